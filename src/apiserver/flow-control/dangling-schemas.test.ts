import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FlowSchema } from '#/api/generated/flowcontrol/v1.ts'
import { startTestServer } from '../test-server.ts'

const group = '/apis/flowcontrol.apiserver.k8s.io/v1'
const limits = { fairness: 'priority and fairness', readOnly: 400, mutating: 200 } as const

test('the Dangling condition follows the existence of the priority level', async t => {
  const { request, watch } = await startTestServer(t, undefined, { limits })
  const dangling = async (name: string, after: string): Promise<string> => {
    const fieldSelector = `fieldSelector=metadata.name=${name}`
    const query = `watch=true&${fieldSelector}&resourceVersion=${after}`
    const [event] = await watch(`${group}/flowschemas?${query}`, 1)
    const { status, metadata } = event!.object as unknown as FlowSchema
    const [condition] = status?.conditions ?? []
    // The first change does not always contain the condition.
    if (condition === undefined) return dangling(name, metadata.resourceVersion ?? '')
    assert.equal(condition.type, 'Dangling')
    return `${condition.status} ${condition.reason}: ${condition.message}`
  }
  const named = 'This FlowSchema references the PriorityLevelConfiguration object named "mine"'
  const spec = { matchingPrecedence: 9, priorityLevelConfiguration: { name: 'mine' } }
  const made = await request('POST', `${group}/flowschemas`, { metadata: { name: 'a' }, spec })
  const version = (): Promise<string> =>
    request('GET', `${group}/flowschemas/a`).then(({ body }) => String(body['metadata']['resourceVersion']))
  assert.equal(
    await dangling('a', String(made.body['metadata']['resourceVersion'])),
    `True NotFound: ${named} but there is no such object`,
  )

  const before = await version()
  const level = { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } }
  await request('POST', `${group}/prioritylevelconfigurations`, { metadata: { name: 'mine' }, spec: level })
  assert.equal(await dangling('a', before), `False Found: ${named} and it exists`)

  const found = await version()
  await request('DELETE', `${group}/prioritylevelconfigurations/mine`)
  assert.match(await dangling('a', found), /^True NotFound/u)
  const { body } = await request('GET', `${group}/flowschemas/exempt`)
  assert.match(JSON.stringify(body['status']), /"Dangling","status":"False"/u)
})
