import assert from 'node:assert/strict'
import { test } from 'node:test'
import { priority } from './priority.ts'
import { pod, pods, startWith, type PluginServer } from '../testdata/plugin-server.ts'

const classes = '/apis/scheduling.k8s.io/v1/priorityclasses'

function priorityClass(name: string, value: number, fields: object = {}): object {
  return { kind: 'PriorityClass', apiVersion: 'scheduling.k8s.io/v1', metadata: { name }, value, ...fields }
}

async function priorityOf(
  { admitted }: PluginServer,
  name: string,
  spec: object = {},
): Promise<readonly unknown[]> {
  const {
    priority: value,
    priorityClassName,
    preemptionPolicy,
  } = (await admitted(pods, pod(name, spec)))['spec'] as never as PodSpec
  return [value, priorityClassName, preemptionPolicy]
}

interface PodSpec {
  readonly priority?: number
  readonly priorityClassName?: string
  readonly preemptionPolicy?: string
}

test('Priority: a pod gets the priority of its class', async t => {
  const server = await startWith(t, priority)
  await server.given(classes, priorityClass('high', 1_000))
  await server.given(classes, priorityClass('polite', 500, { preemptionPolicy: 'Never' }))
  assert.deepEqual(await priorityOf(server, 'a', { priorityClassName: 'high' }), [
    1_000,
    'high',
    'PreemptLowerPriority',
  ])
  assert.deepEqual(await priorityOf(server, 'b', { priorityClassName: 'polite' }), [500, 'polite', 'Never'])
  const critical = { priorityClassName: 'system-node-critical' }
  assert.deepEqual(await priorityOf(server, 'c', critical), [
    2_000_001_000,
    'system-node-critical',
    'PreemptLowerPriority',
  ])
  assert.equal(
    await server.create(pods, pod('d', { priorityClassName: 'none' })),
    '403 pods "d" is forbidden: no PriorityClass with name none was found',
  )
})

test('Priority: a pod without a class gets the default class, or priority zero', async t => {
  const server = await startWith(t, priority)
  assert.deepEqual(await priorityOf(server, 'a'), [0, undefined, 'PreemptLowerPriority'])
  await server.given(classes, priorityClass('usual', 7, { globalDefault: true }))
  assert.deepEqual(await priorityOf(server, 'b'), [7, 'usual', 'PreemptLowerPriority'])
})

test("Priority: a pod's priority must match its class", async t => {
  const server = await startWith(t, priority)
  await server.given(classes, priorityClass('high', 1_000))
  const check = async (name: string, spec: object, expected: string): Promise<void> => {
    const text = await server.create(pods, pod(name, { priorityClassName: 'high', ...spec }))
    assert.equal(text, expected === 'ok' ? 'ok' : `403 pods "${name}" is forbidden: ${expected}`)
  }
  await check('a', { priority: 1_000 }, 'ok')
  await check(
    'b',
    { priority: 5 },
    'the integer value of priority (5) must not be provided in pod spec; ' +
      'priority admission controller computed 1000 from the given PriorityClass name',
  )
  await check(
    'c',
    {
      preemptionPolicy: 'Never',
    },
    'the string value of PreemptionPolicy (Never) must not be provided in pod spec; ' +
      'priority admission controller computed PreemptLowerPriority from the given PriorityClass name',
  )
})

test('Priority: an update without the fields keeps them', async t => {
  const { admitted, request } = await startWith(t, priority)
  const body = (await admitted(pods, pod('p'))) as never as { readonly spec: PodSpec & object }
  const { priority: _value, preemptionPolicy: _policy, ...spec } = body.spec
  const answer = await request('PUT', `${pods}/p`, { ...body, spec })
  assert.deepEqual([answer.code, answer.body['spec']!['priority']], [200, 0])
})

test('Priority: at most one class can be globalDefault', async t => {
  const { given, create, patch } = await startWith(t, priority)
  await given(classes, priorityClass('one', 1, { globalDefault: true }))
  assert.equal(
    await create(classes, priorityClass('two', 2, { globalDefault: true })),
    '403 priorityclasses.scheduling.k8s.io "two" is forbidden: ' +
      'PriorityClass one is already marked as default. Only one default can exist',
  )
  assert.equal(await create(classes, priorityClass('two', 2)), 'ok')
  assert.equal(await patch(`${classes}/one`, { description: 'x' }), 'ok')
  assert.match(
    await patch(`${classes}/two`, { globalDefault: true }),
    /^403 .*PriorityClass one is already marked as default/u,
  )
})
