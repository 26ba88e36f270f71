// @bitrix24/b24jssdk, unmodified, against a sandbox portal with TLS. Its address is in SANDBOX_URL.

import assert from 'node:assert/strict'
import http from 'node:http'
import { createRequire } from 'node:module'

// The test has installed the packages into this folder, not beside this script.
const require = createRequire(process.env.SDK_FOLDER + '/')
const { B24Hook } = require('@bitrix24/b24jssdk')

// The library's default rate is for real portals. The sandbox runs without limits here.
const b24 = B24Hook.fromWebhookUrl(process.env.SANDBOX_URL, {
  restrictionParams: { rateLimit: { burstLimit: 1000, drainRate: 1000, adaptiveEnabled: false } }
})
b24.offClientSideWarning()

const call = async (method, params) => {
  const answer = await b24.actions.v2.call.make({ method, params })
  assert.ok(answer.isSuccess, answer.getErrorMessages().join('; '))
  return answer.getData()
}
const page = async (params) => {
  const answer = await b24.actions.v2.call.make({ method: 'crm.deal.list', params })
  assert.ok(answer.isSuccess, answer.getErrorMessages().join('; '))
  return answer
}

// The current user.
assert.equal((await call('profile')).result.ID, '1')
assert.equal((await call('user.current')).result.ACTIVE, true)
assert.match((await call('server.time')).result, /\+03:00$/)

// 120 deals, by batches of fifty.
const commands = Array.from({ length: 120 }, (_, n) => ({
  method: 'crm.deal.add',
  params: { fields: { TITLE: `Сделка из скрипта ${String(n).padStart(3, '0')}`, OPPORTUNITY: n * 10, ORIGINATOR_ID: 'jssdk' } }
}))
const added = await b24.actions.v2.batchByChunk.make({ calls: commands })
assert.ok(added.isSuccess, added.getErrorMessages().join('; '))
const ids = added.getData()
assert.equal(ids.length, 120)
assert.ok(ids.every(Number.isInteger))

// Pages: all at once, chunk by chunk, and by hand.
const mine = { ORIGINATOR_ID: 'jssdk' }
const all = (await b24.actions.v2.callList.make({ method: 'crm.deal.list', params: { filter: mine, select: ['ID'] } })).getData()
assert.deepEqual(all.map(row => Number(row.ID)), ids)
let chunks = []
for await (const chunk of b24.actions.v2.fetchList.make({ method: 'crm.deal.list', params: { filter: mine } })) chunks.push(chunk.length)
assert.deepEqual(chunks, [50, 50, 20])
const pages = []
const http2 = b24.getHttpClient('v2')
for (let now = await page({ filter: mine, start: 0 }); now; now = await now.fetchNext(http2)) {
  pages.push([now.getTotal(), now.isMore(), now.getData().result.length])
}
assert.deepEqual(pages, [[120, true, 50], [120, true, 50], [120, false, 20]])
const items = await b24.actions.v2.callList.make({
  method: 'crm.item.list', params: { entityTypeId: 2, filter: { '=%title': 'сделка из%' }, select: ['id', 'title'] },
  idKey: 'id', customKeyForResult: 'items'
})
assert.equal(items.getData().length, 120)
const tasks = await b24.actions.v2.callList.make({
  method: 'tasks.task.list', params: { select: ['ID', 'TITLE'] }, idKey: 'id', cursorIdKey: 'ID', customKeyForResult: 'tasks'
})
assert.ok(tasks.getData().length >= 36)

// Every operator of a filter.
for (const [filter, expected] of [
  [{ ID: ids[0] }, 1], [{ '=ID': ids[0] }, 1], [{ '!ID': ids[0] }, 119], [{ '!=ID': ids[0] }, 119],
  [{ '>ID': ids[9] }, 110], [{ '>=ID': ids[9] }, 111], [{ '<ID': ids[9] }, 9], [{ '<=ID': ids[9] }, 10],
  [{ '@ID': [ids[0], ids[1]] }, 2], [{ '!@ID': [ids[0], ids[1]] }, 118],
  [{ '%TITLE': 'СКРИПТА 01' }, 10], [{ '=%TITLE': '%119' }, 1], [{ '%=TITLE': 'сделка%' }, 120],
  [{ '>OPPORTUNITY': 100, '<=OPPORTUNITY': 200 }, 10], [{ STAGE_ID: 'NEW' }, 120], [{ '!STAGE_ID': 'NEW' }, 0]
]) {
  const found = await page({ filter: { ...mine, ...filter }, select: ['ID'] })
  assert.equal(found.getTotal(), expected, JSON.stringify(filter))
}

// Order and select.
const [top] = (await call('crm.deal.list', { filter: mine, order: { OPPORTUNITY: 'DESC' }, select: ['TITLE', 'OPPORTUNITY'] })).result
assert.deepEqual(top, { ID: String(ids[119]), TITLE: 'Сделка из скрипта 119', OPPORTUNITY: '1190.00' })

// A batch with references, by name; one that fails in the middle.
const batch = await b24.actions.v2.batch.make({
  calls: {
    deal: { method: 'crm.deal.get', params: { id: ids[3] } },
    copy: { method: 'crm.deal.add', params: { fields: { TITLE: '$result[deal][TITLE]' } } },
    read: { method: 'crm.deal.get', params: { id: '$result[copy]' } }
  },
  options: { isHaltOnError: true, returnAjaxResult: true }
})
assert.ok(batch.isSuccess, batch.getErrorMessages().join('; '))
assert.equal(batch.getData().read.getData().result.TITLE, 'Сделка из скрипта 003')
const broken = await b24.actions.v2.batch.make({
  calls: [['no.such.method', {}], ['crm.deal.get', { id: ids[0] }]],
  options: { isHaltOnError: false, returnAjaxResult: true }
})
assert.ok(!broken.isSuccess)
assert.match(broken.getErrorMessages().join(), /Method not found/)
assert.equal(broken.getData()[1].getData().result.ID, String(ids[0]))

// Errors have a code and a status.
// (Errors of the CRM have an empty code, as on real portals; the library keeps only their status.)
await assert.rejects(call('crm.deal.get', { id: 1e9 }), error => error.status === 400)
await assert.rejects(call('no.such.method'), error => error.code === 'ERROR_METHOD_NOT_FOUND' && error.status === 404)

// A task with a comment and a checklist, by the older methods too.
const { task } = (await call('tasks.task.add', { fields: { TITLE: 'Замер', RESPONSIBLE_ID: 6 } })).result
assert.equal(task.responsibleId, '6')
const comment = (await call('task.commentitem.add', { TASKID: Number(task.id), FIELDS: { POST_MESSAGE: 'Еду' } })).result
assert.ok(comment > 0)
const point = (await call('task.checklistitem.add', { TASKID: Number(task.id), FIELDS: { TITLE: 'Рулетка' } })).result
const [listed] = (await call('task.checklistitem.getlist', { TASKID: Number(task.id) })).result
assert.deepEqual([listed.ID, listed.TITLE, listed.IS_COMPLETE], [String(point), 'Рулетка', 'N'])
assert.equal((await call('tasks.task.complete', { taskId: task.id })).result.task.status, '5')

// Events.
const form = await new Promise((resolve, reject) => {
  const server = http.createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    response.end()
    server.close()
    resolve(new URLSearchParams(body))
  })
  server.listen(0, '127.0.0.1', async () => {
    try {
      const handler = `http://127.0.0.1:${server.address().port}/event`
      assert.equal((await call('event.bind', { event: 'OnCrmContactAdd', handler })).result, true)
      await call('crm.contact.add', { fields: { NAME: 'Пётр', PHONE: [{ VALUE: '+7 000 555-00-01', VALUE_TYPE: 'WORK' }] } })
      assert.deepEqual((await call('event.unbind', { event: 'ONCRMCONTACTADD', handler })).result, { count: 1 })
    } catch (error) {
      reject(error)
    }
  })
})
assert.equal(form.get('event'), 'ONCRMCONTACTADD')
const contact = (await call('crm.contact.get', { id: form.get('data[FIELDS][ID]') })).result
assert.equal(contact.PHONE[0].VALUE, '+7 000 555-00-01')

console.log('b24jssdk: ok')
