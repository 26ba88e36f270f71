"""fast_bitrix24, unmodified, against a sandbox portal. Its address is in SANDBOX_URL."""

import asyncio
import os
import warnings

from fast_bitrix24 import BitrixAsync
from fast_bitrix24.server_response import ErrorInServerResponseException

from handler import Handler

warnings.simplefilter("ignore")


async def main():
    b = BitrixAsync(os.environ["SANDBOX_URL"], verbose=False, respect_velocity_policy=True)

    # 120 deals, in batches that the library makes.
    fields = [
        {"fields": {"TITLE": f"Быстрая сделка {n:03}", "OPPORTUNITY": n * 1000, "ORIGINATOR_ID": "fast", "ORIGIN_ID": f"f-{n}"}}
        for n in range(120)
    ]
    ids = await b.call("crm.deal.add", fields)
    assert len(ids) == 120 and all(isinstance(id, int) for id in ids), ids
    assert len(set(ids)) == 120

    # All pages, and only ours.
    everything = await b.get_all("crm.deal.list", {"select": ["ID", "TITLE"]})
    assert len(everything) >= 270 and len({row["ID"] for row in everything}) == len(everything), len(everything)
    ours = await b.get_all("crm.deal.list", {"filter": {"ORIGINATOR_ID": "fast"}, "select": ["ID", "OPPORTUNITY"]})
    assert sorted(int(row["ID"]) for row in ours) == sorted(ids)
    assert all(set(row) == {"ID", "OPPORTUNITY"} for row in ours)
    assert {row["OPPORTUNITY"] for row in ours} >= {"0.00", "119000.00"}

    # Every operator of a filter.
    async def count(**extra):
        filter = {"ORIGINATOR_ID": "fast", **extra.pop("filter")}
        return len(await b.get_all("crm.deal.list", {"filter": filter, "select": ["ID"]}))

    # The library sends its batches in parallel, so neither ids nor answers are in the order of the calls.
    first, in_order = ids[0], sorted(ids)
    tenth = in_order[9]
    for filter, expected in [
        ({"ID": first}, 1),
        ({"=ID": first}, 1),
        ({"!ID": first}, 119),
        ({"!=ID": first}, 119),
        ({">ID": tenth}, 110),
        ({">=ID": tenth}, 111),
        ({"<ID": tenth}, 9),
        ({"<=ID": tenth}, 10),
        ({"@ID": in_order[:2]}, 2),
        ({"!@ID": in_order[:2]}, 118),
        ({"%TITLE": "СДЕЛКА 01"}, 10),
        ({"=%TITLE": "%003"}, 1),
        ({"%=TITLE": "быстрая%"}, 120),
        ({">OPPORTUNITY": 10000, "<=OPPORTUNITY": 20000}, 10),
        ({"ORIGIN_ID": "f-7"}, 1),
        ({">DATE_CREATE": "2000-01-01T00:00:00+03:00"}, 120),
        ({"CLOSED": "Y"}, 0),
    ]:
        got = await count(filter=dict(filter))
        assert got == expected, (filter, got, expected)

    # One record by its id, and many.
    by_id = await b.get_by_ID("crm.deal.get", ids[:3])
    assert set(by_id) == {str(id) for id in ids[:3]}, set(by_id)
    for row in by_id.values():
        assert row["TITLE"] == f"Быстрая сделка {int(row['ORIGIN_ID'][2:]):03}", row

    # Order, which only a plain call supports.
    raw = await b.call("crm.deal.list", {"order": {"OPPORTUNITY": "DESC"}, "filter": {"ORIGINATOR_ID": "fast"}}, raw=True)
    assert raw["result"][0]["OPPORTUNITY"] == "119000.00" and raw["total"] == 120 and raw["next"] == 50

    # A batch where one command uses another's result.
    batch = await b.call_batch({
        "halt": 1,
        "cmd": {
            "deal": f"crm.deal.get?id={first}",
            "copy": "crm.deal.add?fields[TITLE]=$result[deal][TITLE]&fields[OPPORTUNITY]=$result[deal][OPPORTUNITY]",
            "again": "crm.deal.get?id=$result[copy]",
        },
    })
    assert batch["again"]["TITLE"] == batch["deal"]["TITLE"] and batch["again"]["ID"] == str(batch["copy"])

    # Changes and errors.
    assert await b.call("crm.deal.update", {"ID": first, "fields": {"STAGE_ID": "WON"}}) is True
    try:
        await b.call("crm.deal.get", {"ID": 10**9})
        raise AssertionError("a deal that does not exist was found")
    except ErrorInServerResponseException as error:
        assert "Not found" in str(error), error

    # Tasks.
    tasks = await b.get_all("tasks.task.list", {"select": ["ID", "TITLE"]})
    assert len(tasks) >= 36 and set(tasks[0]) >= {"id", "title"}, tasks[0]
    task = await b.call("tasks.task.add", {"fields": {"TITLE": "Позвонить", "RESPONSIBLE_ID": 3}})
    task = task["task"] if "task" in task else task
    assert task["title"] == "Позвонить" and task["responsibleId"] == "3", task
    users = await b.get_all("user.get")
    assert users[0]["ACTIVE"] is True and any(user["ACTIVE"] is False for user in users)

    # Events arrive at a handler.
    with Handler() as handler:
        assert await b.call("event.bind", {"event": "onCrmDealAdd", "handler": handler.url}, raw=True)
        bound = (await b.call("event.get", raw=True))["result"]
        assert {"event": "ONCRMDEALADD", "handler": handler.url, "auth_type": "0", "offline": 0} in bound, bound
        made = await b.call("crm.deal.add", {"fields": {"TITLE": "С событием"}})
        form = handler.wait()
        assert form["event"] == ["ONCRMDEALADD"] and form["data[FIELDS][ID]"] == [str(made)], form
        assert form["auth[application_token]"] == ["sandbox-application-token"]
        gone = await b.call("event.unbind", {"event": "ONCRMDEALADD", "handler": handler.url}, raw=True)
        assert gone["result"] == {"count": 1}, gone


asyncio.run(main())
print("fast_bitrix24: ok")
