"""b24pysdk, unmodified, against a sandbox portal with TLS. Its address is in SANDBOX_URL."""

import os
from urllib.parse import urlparse

from b24pysdk import BitrixWebhook, Client
from b24pysdk import errors

from handler import Handler

url = urlparse(os.environ["SANDBOX_URL"])
_, _, user, key, _ = url.path.split("/")
webhook = BitrixWebhook(domain=url.netloc, webhook_token=f"{user}/{key}")
client = Client(webhook)

# The current user.
assert client.profile().response.result["ID"] == user
assert client.user.current().response.result["ACTIVE"] is True
assert "crm" in client.scope().response.result
assert client.server.time().response.result.endswith("+03:00")

# 120 deals, in batches of batches.
wanted = [
    client.crm.deal.add({"TITLE": f"Сделка на проверку {n:03}", "OPPORTUNITY": n, "CURRENCY_ID": "RUB", "ORIGINATOR_ID": "pysdk"})
    for n in range(120)
]
made = client.call_batches(wanted).response.result
ids = list(made.result if isinstance(made.result, list) else made.result.values())
assert len(ids) == 120 and all(isinstance(id, int) for id in ids), ids
assert not made.result_error

# Pages: by `start` in batches, and by `>ID` with references.
mine = {"ORIGINATOR_ID": "pysdk"}
paged = client.crm.deal.list(filter=mine, select=["ID", "TITLE"]).as_list().response.result
assert [int(row["ID"]) for row in paged] == ids, len(paged)
fast = list(client.crm.deal.list(filter=mine, select=["ID"]).as_list_fast().response.result)
assert [int(row["ID"]) for row in fast] == ids, len(fast)
backwards = list(client.crm.deal.list(select=["ID"]).as_list_fast(descending=True).response.result)
assert len(backwards) >= 270 and int(backwards[0]["ID"]) > int(backwards[-1]["ID"]) == 1

# Every operator of a filter, each as one page.
def count(filter):
    answer = webhook.call_method("crm.deal.list", {"filter": {**mine, **filter}, "select": ["ID"]})
    return answer["total"]


for filter, expected in [
    ({"ID": ids[0]}, 1), ({"=ID": ids[0]}, 1), ({"!ID": ids[0]}, 119), ({"!=ID": ids[0]}, 119),
    ({">ID": ids[9]}, 110), ({">=ID": ids[9]}, 111), ({"<ID": ids[9]}, 9), ({"<=ID": ids[9]}, 10),
    ({"@ID": ids[:2]}, 2), ({"!@ID": ids[:2]}, 118), ({"ID": ids[:3]}, 3),
    ({"%TITLE": "проверку 01"}, 10), ({"=%TITLE": "%119"}, 1), ({"%=TITLE": "СДЕЛКА%"}, 120),
    ({">=OPPORTUNITY": 100, "<OPPORTUNITY": 110.5}, 11), ({"CONTACT_ID": ""}, 120), ({"!CONTACT_ID": ""}, 0),
]:
    assert count(filter) == expected, (filter, count(filter), expected)

# Order and select.
rows = client.crm.deal.list(filter=mine, order={"OPPORTUNITY": "DESC"}, select=["OPPORTUNITY", "UF_*"]).response.result
assert [row["OPPORTUNITY"] for row in rows[:2]] == ["119.00", "118.00"], rows[:2]
assert set(rows[0]) == {"ID", "OPPORTUNITY", "UF_CRM_CITY", "UF_CRM_WARRANTY"}, rows[0]

# A batch with references, one that fails in the middle, and one that stops there.
commands = {
    "deal": ("crm.deal.get", {"id": ids[5]}),
    "copy": ("crm.deal.add", {"fields": {"TITLE": "$result[deal][TITLE]"}}),
    "nope": ("crm.deal.get", {"id": 10**9}),
    "read": ("crm.deal.get", {"id": "$result[copy]"}),
}
result = webhook.call_batch(commands)["result"]
assert result["result"]["read"]["TITLE"] == "Сделка на проверку 005"
assert result["result_error"]["nope"]["error_description"] == "Not found"
halted = webhook.call_batch(commands, halt=True)["result"]
assert "read" not in halted["result"] and list(halted["result_error"]) == ["nope"]

# Single calls: get, update, delete, and errors.
assert client.crm.deal.get(ids[0]).response.result["OPPORTUNITY"] == "0.00"
assert client.crm.deal.update(ids[0], {"STAGE_ID": "WON"}).response.result is True
closed = client.crm.deal.get(ids[0]).response.result
assert (closed["CLOSED"], closed["STAGE_SEMANTIC_ID"]) == ("Y", "S")
assert client.crm.deal.delete(ids[0]).response.result is True
for call, kind in [
    (client.crm.deal.get(ids[0]), errors.BitrixAPIBadRequest),
    (client.crm.deal.update(ids[1], {"STAGE_ID": "NOPE"}), errors.BitrixAPIBadRequest),
]:
    try:
        call.response
        raise AssertionError(f"{call} was no error")
    except kind as error:
        assert error.error == "" and error.error_description, error
try:
    webhook.call_method("no.such.method")
    raise AssertionError("a method that does not exist answered")
except errors.BitrixAPINotFound as error:
    assert error.error == "ERROR_METHOD_NOT_FOUND", error
try:
    BitrixWebhook(domain=url.netloc, webhook_token="1/wrong").call_method("profile")
    raise AssertionError("a wrong key was accepted")
except errors.BitrixAPIInvalidCredentials:
    pass

# Fields with their labels, and items with the other field names.
assert client.crm.deal.fields().response.result["OPPORTUNITY"]["type"] == "double"
item = client.crm.item.get(entity_type_id=2, bitrix_id=ids[1]).response.result["item"]
assert item["id"] == ids[1] and item["opportunity"] == 1, item
items = client.crm.item.list(entity_type_id=2, filter={"originatorId": "pysdk"}).as_list().response.result
assert len(items) == 119, len(items)

# Tasks.
task = client.tasks.task.add({"TITLE": "Согласовать смету", "RESPONSIBLE_ID": 4, "DEADLINE": "2030-01-31T18:00:00+03:00"}).response.result["task"]
assert task["deadline"] == "2030-01-31T18:00:00+03:00" and task["status"] == "2"
task_id = int(task["id"])
assert client.tasks.task.update(task_id, {"TITLE": "Смета"}).response.result["task"]["title"] == "Смета"
newest = client.tasks.task.list(select=["ID", "TITLE"]).response.result["tasks"][0]
assert newest["id"] == task["id"]
assert webhook.call_method("task.commentitem.add", {"TASKID": task_id, "FIELDS": {"POST_MESSAGE": "Готово"}})["result"] > 0
assert webhook.call_method("task.checklistitem.add", {"TASKID": task_id, "FIELDS": {"TITLE": "Раз"}})["result"] > 0
assert client.tasks.task.get(task_id).response.result["task"]["commentsCount"] == "1"

# Events.
with Handler() as handler:
    assert client.event.bind("ONTASKADD", handler.url).response.result is True
    assert any(row["handler"] == handler.url for row in client.event.get().response.result)
    added = client.tasks.task.add({"TITLE": "С событием", "RESPONSIBLE_ID": 1}).response.result["task"]
    form = handler.wait()
    assert form["data[FIELDS_AFTER][ID]"] == [added["id"]], form
    assert client.event.unbind("ONTASKADD", handler.url).response.result == {"count": 1}

print("b24pysdk: ok")
