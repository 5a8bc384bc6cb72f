import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WriteRecord } from '#/api/write-record.ts'
import { planTrace, type TraceInput } from './plan-trace.ts'
import { epochMs, pass, rolloutRecords, write } from './test-records.ts'
import type { Hop, Segment, Trace, TraceTarget } from './trace.ts'

const deployment: TraceTarget = { kind: 'Deployment', apiVersion: 'apps/v1', namespace: 'shop', name: 'web' }

test('the trace of a Deployment has every hop from the client to the service rules and back, in order', () => {
  const trace = plan({ ...rolloutRecords(), target: deployment })
  assert.deepEqual(trace.hops.map(shown), [
    '100 alice create Deployment',
    '101 deployment-controller create ReplicaSet < 100',
    '102 replicaset-controller create Pod < 101',
    '103 default-scheduler create Pod/binding < 102',
    '104 kubelet patch Pod/status < 103',
    '105 kubelet patch Pod/status < 103',
    '106 endpointslice-controller create EndpointSlice < 105',
    '107 replicaset-controller update ReplicaSet/status < 105',
    'pass kube-proxy shop/web < 106',
    'pass dns shop/web < 106',
    '108 deployment-controller update Deployment/status < 107',
  ])
  assert.equal(trace.startedMs, epochMs)
  assert.equal(trace.endedMs, epochMs + 1_052)
  assert.deepEqual(trace.notes, [])
})

test('a later write of a pass has only the steps that are new', () => {
  const trace = plan({ ...rolloutRecords(), target: deployment })
  assert.deepEqual(segmentsOf(trace, '104'), [
    'watch 30+1',
    'queue 31+1',
    'pass 32+46',
    'step admit 32+1',
    'step volumes 33+4',
    'step sandbox 33+44',
    'request 78+2',
  ])
  assert.deepEqual(segmentsOf(trace, '105'), [
    'pass 34+994',
    'step pull nginx:1.27 34+900',
    'step create web 935+30',
    'step start web 966+50',
    'step readiness-probe web 1017+10',
    'request 1028+2',
  ])
})

test('the stages of a request are inside it, and the write to the store ends when it is visible', () => {
  const trace = plan({ ...rolloutRecords(), target: deployment })
  assert.deepEqual(segmentsOf(trace, '100'), [
    'request 0+8',
    'stage authentication 0.1+0.2',
    'stage authorization 0.4+0.3',
    'stage admission ResourceQuota 1+0.4',
    'stage webhook policy.example.com 2+3',
    'stage store 5+3',
  ])
})

test('the breakdown attributes the time of the longest chain, with shares that add up', () => {
  const { breakdown, startedMs, endedMs } = plan({ ...rolloutRecords(), target: deployment })
  assert.equal(breakdown[0]?.name, 'image pull')
  assert.ok(Math.abs(breakdown.reduce((sum, { share }) => sum + share, 0) - 1) < 1e-6)
  const total = breakdown.reduce((sum, { durationMs }) => sum + durationMs, 0)
  assert.ok(Math.abs(total - (endedMs - startedMs)) < 1e-3)
})

test('the breakdown attributes to the merging of status changes only what no work explains', () => {
  const status = write(11, 'kubelet', 'patch Deployment/status shop/web', {
    at: 610,
    causes: [10],
    queued: 1,
    started: 1,
    received: 609,
    steps: ['cgroup 8+90', 'sandbox 100+300', 'status 8+600'],
  })
  const { breakdown } = plan({ writes: [create, status], passes: [], target: deployment })
  const shares = breakdown.map(({ name, durationMs }) => `${name} ${rounded(durationMs)}`)
  assert.deepEqual(shares, [
    'pod sandbox 300',
    'pod status 210',
    'kubelet cgroup 90',
    'kubelet 8',
    'API requests 3',
    'watches 1',
  ])
})

const create = write(10, 'alice', 'create Deployment shop/web', { at: 0 })
const consequence = write(11, 'deployment-controller', 'create ReplicaSet shop/web-1', {
  at: 10,
  causes: [10],
})
const scale = write(20, 'bob', 'update Deployment/scale shop/web', { at: 2_000 })
const scaled = write(21, 'deployment-controller', 'update ReplicaSet shop/web-1', { at: 2_010, causes: [20] })
const label = write(30, 'alice', 'patch Deployment shop/web', { at: 3_000 })

const roots: readonly (readonly [string, readonly WriteRecord[], Partial<TraceInput>, number | undefined])[] =
  [
    ['nothing recorded', [consequence], {}, undefined],
    ['the creation', [create, consequence], {}, 10],
    ['the latest change with consequences', [create, consequence, scale, scaled, label], {}, 20],
    ['the latest change, if none has consequences', [create, label], {}, 30],
    ['the chain of a revision', [create, consequence, scale, scaled], { atRevision: 10 }, 10],
    ['no such revision', [create, consequence], { atRevision: 11 }, undefined],
    ['in any order', [scaled, label, scale, consequence, create], {}, 20],
    [
      'the cause of the creation by a component',
      [
        create,
        consequence,
        write(12, 'replicaset-controller', 'create Pod shop/p', { at: 15, causes: [11] }),
      ],
      { target: { kind: 'Pod', namespace: 'shop', name: 'p' } },
      10,
    ],
    [
      'the first that is recorded, if its cause is not any more',
      [consequence, write(12, 'replicaset-controller', 'create Pod shop/p', { at: 15, causes: [11] })],
      { target: { kind: 'Pod', namespace: 'shop', name: 'p' } },
      11,
    ],
    [
      'a heartbeat of a node is no request from outside',
      [create, consequence, write(40, 'system:node:n', 'patch Deployment/status shop/web', { at: 4_000 })],
      {},
      10,
    ],
    [
      'the latest object of the name',
      [create, write(50, 'alice', 'create Deployment shop/web', { at: 5_000, uid: 'second' }), consequence],
      {},
      50,
    ],
    ['another group', [create], { target: { ...deployment, apiVersion: 'example.com/v1' } }, undefined],
  ]

for (const [name, writes, input, root] of roots) {
  test(`root: ${name}`, () => {
    const trace = planTrace({ writes, passes: [], target: deployment, ...input })
    assert.equal(trace?.root.revision, root)
  })
}

test('a chain that begins with a component says that its cause is not recorded', () => {
  const trace = plan({
    writes: [consequence],
    passes: [],
    target: { kind: 'ReplicaSet', name: 'web-1', namespace: 'shop' },
  })
  assert.match(trace.notes[0] ?? '', /revision 10, is not recorded/)
})

test('the chain of a pod has its owners, and not its siblings', () => {
  const pods = ['a', 'b', 'c'].map((name, index) => {
    return write(12 + index, 'replicaset-controller', `create Pod shop/${name}`, {
      at: 20 + index,
      causes: [11],
    })
  })
  const bound = write(20, 'default-scheduler', 'create Pod/binding shop/a', { at: 30, causes: [13] })
  const trace = plan({
    writes: [create, consequence, ...pods, bound],
    passes: [],
    target: { kind: 'Pod', namespace: 'shop', name: 'b' },
  })
  assert.deepEqual(
    trace.hops.map(({ id }) => id),
    ['10', '11', '13'],
  )
})

test('events are left out unless everything is wanted', () => {
  const event = write(12, 'kubelet', 'create Event shop/web.1', { at: 20, causes: [11] })
  const input = { writes: [create, consequence, event], passes: [], target: deployment }
  assert.equal(plan(input).hops.length, 2)
  assert.equal(plan({ ...input, isComplete: true }).hops.length, 3)
})

test('a chain ends when it was quiet for ten minutes, and says so', () => {
  const late = write(12, 'deployment-controller', 'update Deployment/status shop/web', {
    at: 3_600_000,
    causes: [11],
  })
  const input = { writes: [create, consequence, late], passes: [], target: deployment }
  const trace = plan(input)
  assert.equal(trace.hops.length, 2)
  assert.match(trace.notes.join(), /quiet for 10 minutes/)
  assert.equal(plan({ ...input, isComplete: true }).hops.length, 3)
  assert.equal(plan({ ...input, atRevision: 12 }).hops.length, 3, 'the revision that was asked for is shown')
})

test('a chain is bounded, and says how much is missing', () => {
  const statuses = Array.from({ length: 3_000 }, (_, index) => {
    const revision = 11 + index
    return write(revision, 'deployment-controller', 'update Deployment/status shop/web', {
      at: index + 10,
      causes: [revision - 1],
    })
  })
  const trace = plan({ writes: [create, ...statuses], passes: [], target: deployment })
  assert.equal(trace.hops.length, 2_000)
  assert.match(trace.notes.join(), /first 2000 hops/)
})

test('causes that are not earlier do not lead in a circle', () => {
  const self = write(11, 'deployment-controller', 'update Deployment/status shop/web', {
    at: 10,
    causes: [10, 11, 12],
  })
  const next = write(12, 'deployment-controller', 'update Deployment/status shop/web', {
    at: 20,
    causes: [11, 12],
  })
  const trace = plan({ writes: [create, self, next], passes: [], target: deployment })
  assert.deepEqual(trace.hops.map(shown), [
    '10 alice create Deployment',
    '11 deployment-controller update Deployment/status < 10',
    '12 deployment-controller update Deployment/status < 11',
  ])
})

const gaps: readonly (readonly [string, WriteRecord, readonly string[]])[] = [
  [
    'before the queue',
    write(11, 'c', 'create ReplicaSet shop/r', {
      at: 120,
      causes: [10],
      queued: 110,
      started: 111,
      received: 112,
    }),
    ['gap watch 0+110'],
  ],
  [
    'between steps',
    write(11, 'c', 'create ReplicaSet shop/r', {
      at: 305,
      causes: [10],
      queued: 1,
      started: 2,
      received: 300,
      steps: ['first 0+10', 'second 150+60', 'third 165+100'],
    }),
    ['gap pass 12+140'],
  ],
  [
    'in the request',
    write(11, 'c', 'create ReplicaSet shop/r', {
      at: 300,
      causes: [10],
      queued: 1,
      started: 2,
      received: 3,
      stages: ['authentication 0+1', 'store 200+0'],
    }),
    ['gap request 4+199'],
  ],
  [
    'not in a queue or in a pass without steps',
    write(11, 'c', 'create ReplicaSet shop/r', {
      at: 900,
      causes: [10],
      queued: 1,
      started: 400,
      received: 899,
    }),
    [],
  ],
]

for (const [name, record, expected] of gaps) {
  test(`gap: ${name}`, () => {
    const trace = plan({ writes: [create, record], passes: [], target: deployment })
    assert.deepEqual(
      segmentsOf(trace, '11').filter(text => text.startsWith('gap')),
      expected,
    )
  })
}

const clocks: readonly (readonly [string, WriteRecord, readonly string[], boolean])[] = [
  [
    'a clock that is behind',
    write(11, 'kubelet', 'patch Pod/status shop/p', {
      at: 100,
      causes: [10],
      node: 'n',
      queued: -5_000,
      started: -4_990,
      received: 98,
      steps: ['sandbox 0+50'],
    }),
    ['queue 0+10', 'pass 10+88', 'step sandbox 10+50', 'request 98+2'],
    true,
  ],
  [
    'a clock that is ahead',
    write(11, 'kubelet', 'patch Pod/status shop/p', {
      at: 100,
      causes: [10],
      node: 'n',
      queued: 5_000,
      started: 5_010,
      received: 98,
      steps: ['sandbox 0+50'],
    }),
    ['watch 0+38', 'queue 38+10', 'pass 48+50', 'step sandbox 48+50', 'request 98+2'],
    true,
  ],
  [
    'rounding',
    write(11, 'kubelet', 'patch Pod/status shop/p', {
      at: 4,
      causes: [10],
      queued: -2,
      started: -1,
      received: 1,
    }),
    ['queue 0+0', 'pass 0+1', 'request 1+3'],
    false,
  ],
  [
    'a request that was received after it was visible',
    write(11, 'kubelet', 'patch Pod/status shop/p', {
      at: 4,
      causes: [10],
      queued: 1,
      started: 2,
      received: 9,
    }),
    ['watch 0+1', 'queue 1+1', 'pass 2+2', 'request 4+0'],
    false,
  ],
]

for (const [name, record, expected, isShifted] of clocks) {
  test(`clock: ${name}`, () => {
    const trace = plan({ writes: [create, record], passes: [], target: deployment })
    const hop = trace.hops.find(({ id }) => id === '11')
    assert.deepEqual(segmentsOf(trace, '11'), expected)
    assert.equal(hop?.clockShiftMs !== undefined, isShifted)
    assert.equal(trace.notes.length, isShifted ? 1 : 0)
    for (const { durationMs } of hop?.segments ?? []) assert.ok(durationMs >= 0)
  })
}

test('a cause that came after the key was queued is a cause, and not the parent', () => {
  const second = write(12, 'deployment-controller', 'update ReplicaSet shop/web-1', { at: 30, causes: [10] })
  const merged = write(13, 'replicaset-controller', 'create Pod shop/p', {
    at: 40,
    causes: [11, 12],
    queued: 12,
    started: 35,
  })
  const trace = plan({ writes: [create, consequence, second, merged], passes: [], target: deployment })
  const hop = trace.hops.find(({ id }) => id === '13')
  assert.deepEqual([hop?.parent, hop?.causes], ['11', ['11', '12']])
})

test('a pass on a node whose clock is behind ends after its cause', () => {
  const late = pass('kube-proxy', 'shop/web', {
    node: 'n',
    ended: -900,
    causes: [11],
    queued: -910,
    started: -905,
  })
  const trace = plan({ writes: [create, consequence], passes: [late], target: deployment })
  const hop = trace.hops.at(-1)
  assert.deepEqual([hop?.startedMs, hop?.endedMs], [epochMs + 10, epochMs + 20])
})

function plan(input: TraceInput): Trace {
  const trace = planTrace(input)
  assert.ok(trace)
  return trace
}

function shown({ type, actor, verb, object, subresource, key, revision, parent }: Hop): string {
  const what = object === undefined ? key : `${verb} ${object.kind}${subresource ? `/${subresource}` : ''}`
  return `${type === 'pass' ? 'pass' : revision} ${actor} ${what}${parent === undefined ? '' : ` < ${parent}`}`
}

/** `KIND NAME DETAIL START+DURATION`, in milliseconds from the epoch of the tests. */
function segmentsOf({ hops }: Trace, id: string): readonly string[] {
  return (hops.find(hop => hop.id === id)?.segments ?? []).map(segmentText)
}

function segmentText({ kind, name, detail, startedMs, durationMs }: Segment): string {
  const label = [kind, ...(name === kind ? [] : [name]), ...(detail === undefined ? [] : [detail])].join(' ')
  return `${label} ${rounded(startedMs - epochMs)}+${rounded(durationMs)}`
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10
}
