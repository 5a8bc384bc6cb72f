import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ObjectVersion } from '#/api/object-history.ts'
import type { Origin } from '#/api/origin.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { isStatusOnly, type VersionStep } from './describe-version.ts'
import { formatVersionChanges, formatVersionTable } from './format-versions.ts'

const nowMs = Date.parse('2026-01-31T08:10:00.000Z')

const alice: Origin = {
  user: 'alice',
  userAgent: 'kubectl/v1.36.4 (linux/amd64)',
  verb: 'patch',
  receivedMs: 0,
  steps: [],
}
const pass = {
  component: 'deployment-controller',
  key: 'shop/web',
  causes: [],
  queuedMs: 0,
  startedMs: 0,
  steps: [],
}
const controller: Origin = { ...alice, verb: 'update', subresource: 'status', pass }
const kubelet: Origin = { ...controller, pass: { ...pass, component: 'kubelet', node: 'node-1' } }

function version(revision: number, object: object, more: Partial<ObjectVersion> = {}): ObjectVersion {
  const given = { metadata: { uid: 'u1' }, ...object } as JsonObject
  const minute = String(Math.min(9, revision)).padStart(2, '0')
  const time = `2026-01-31T08:${minute}:00.000Z`
  return { revision, time, type: 'MODIFIED', origin: alice, object: given, ...more }
}

/** Given oldest first, as steps newest first. */
function stepsOf(...versions: readonly ObjectVersion[]): readonly VersionStep[] {
  return versions.map((each, index) => ({ version: each, previous: versions[index - 1] })).toReversed()
}

const steps = stepsOf(
  version(1, { spec: { replicas: 1 } }, { type: 'ADDED' }),
  version(2, { metadata: { uid: 'u1', generation: 2 }, spec: { replicas: 2 } }),
  version(
    3,
    { metadata: { uid: 'u1', generation: 2 }, spec: { replicas: 2 }, status: { ready: 1 } },
    { origin: controller },
  ),
  version(
    4,
    { metadata: { uid: 'u1', generation: 2 }, spec: { replicas: 2 }, status: { ready: 1 } },
    { type: 'DELETED' },
  ),
  version(5, { metadata: { uid: 'u2' }, spec: { replicas: 2 } }, { type: 'ADDED' }),
)

test('the table has a line for each version, also of deleted objects and of other incarnations', () => {
  assert.equal(
    formatVersionTable(steps, nowMs),
    `REVISION   AGE   WHO                     VERB            CHANGES
5          5m    alice (kubectl)         patch           created again, with another uid
4          6m    alice (kubectl)         patch           DELETED
3          7m    deployment-controller   update status   +status: {"ready":1}
2          8m    alice (kubectl)         patch           replicas: 1 -> 2
1          9m    alice (kubectl)         patch           created
`,
  )
})

test('the first kept version, unknown origins and writes without a change of fields are named as such', () => {
  const { origin: _origin, ...unknown } = version(7, { spec: {} })
  assert.equal(
    formatVersionTable(stepsOf(unknown, version(8, { spec: {} }, { origin: kubelet })), nowMs),
    `REVISION   AGE   WHO                 VERB            CHANGES
8          2m    kubelet on node-1   update status   (only managedFields)
7          3m    <unknown>           <unknown>       (the version before is not kept)
`,
  )
})

test('all changes of each version are shown below it', () => {
  assert.equal(
    formatVersionChanges(steps.slice(1, 4), nowMs),
    `revision 4, 2026-01-31T08:04:00.000Z (6m ago): patch by alice (kubectl)
  DELETED

revision 3, 2026-01-31T08:03:00.000Z (7m ago): update status by deployment-controller
  + status: {"ready":1}

revision 2, 2026-01-31T08:02:00.000Z (8m ago): patch by alice (kubectl)
  + metadata.generation: 2
  ~ spec.replicas: 1 -> 2
`,
  )
})

test('a version is of the status only if nothing else has changed', () => {
  assert.deepEqual(
    steps.map(each => isStatusOnly(each)),
    [false, false, true, false, false],
  )
})

test('names, programs and values cannot control the terminal', () => {
  const hostile = 'x\u001b[2J\u009b\u202e\n'
  const origin = { ...alice, user: hostile, userAgent: `${hostile}/1`, verb: hostile }
  const hostileSteps = stepsOf(
    version(1, { data: { a: '1' } }),
    version(2, { data: { [hostile]: hostile } }, { origin }),
  )
  for (const format of [formatVersionTable, formatVersionChanges]) {
    assert.doesNotMatch(format(hostileSteps, nowMs).replaceAll('\n', ''), /[\p{Cc}\u202e]/u)
  }
  assert.equal(formatVersionTable(hostileSteps, nowMs).split('\n').length, 4)
})

test('values of Secrets are masked', () => {
  const secret = { apiVersion: 'v1', kind: 'Secret' }
  const shown = stepsOf(
    version(1, { ...secret, data: { a: 'MQ==' } }),
    version(2, { ...secret, data: { a: 'Mg==' } }),
  )
  assert.doesNotMatch(formatVersionTable(shown, nowMs) + formatVersionChanges(shown, nowMs), /M[Qg]==/)
})
