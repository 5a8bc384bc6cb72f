import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '#/api/text/json-object.ts'
import { rolloutStatusReaderOf } from './rollout-status.ts'

interface Case {
  readonly spec?: JsonObject
  readonly status?: JsonObject
  readonly metadata?: JsonObject
  readonly revision?: number
}

function statusOf(groupKind: string, { spec = {}, status = {}, metadata = {}, revision = 0 }: Case) {
  const object = {
    metadata: { name: 'web', generation: 2, ...metadata },
    spec,
    status: { observedGeneration: 2, ...status },
  }
  return rolloutStatusReaderOf(groupKind)!(object, revision)
}

test('the status of a deployment tells what the rollout waits for', () => {
  const check = (given: Case, text: string) => {
    const status = statusOf('Deployment.apps', given)
    assert.equal(status.text, `${text}\n`)
    assert.equal(status.isDone, text.includes('successfully'))
  }
  const waiting = 'Waiting for deployment "web" rollout to finish:'
  const spec = { replicas: 3 }
  check({ spec, status: { observedGeneration: 1 } }, 'Waiting for deployment spec update to be observed...')
  check({ spec, status: { updatedReplicas: 1 } }, `${waiting} 1 out of 3 new replicas have been updated...`)
  check(
    { spec, status: { updatedReplicas: 3, replicas: 5 } },
    `${waiting} 2 old replicas are pending termination...`,
  )
  const updated = { updatedReplicas: 3, replicas: 3 }
  check(
    { spec, status: { ...updated, availableReplicas: 2 } },
    `${waiting} 2 of 3 updated replicas are available...`,
  )
  check({ spec, status: { ...updated, availableReplicas: 3 } }, 'deployment "web" successfully rolled out')
  const conditions = [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }]
  assert.throws(
    () => statusOf('Deployment.apps', { spec, status: { conditions } }),
    /exceeded its progress deadline/,
  )
  const metadata = { annotations: { 'deployment.kubernetes.io/revision': '4' } }
  assert.throws(
    () => statusOf('Deployment.apps', { metadata, revision: 3 }),
    /different from the running revision \(4\)/,
  )
})

test('the status of a daemon set tells what the rollout waits for', () => {
  const check = (status: JsonObject, text: string) =>
    assert.equal(
      statusOf('DaemonSet.apps', { spec: { updateStrategy: { type: 'RollingUpdate' } }, status }).text,
      `${text}\n`,
    )
  const waiting = 'Waiting for daemon set "web" rollout to finish:'
  check({ observedGeneration: 1 }, 'Waiting for daemon set spec update to be observed...')
  check(
    { desiredNumberScheduled: 3, updatedNumberScheduled: 1 },
    `${waiting} 1 out of 3 new pods have been updated...`,
  )
  const updated = { desiredNumberScheduled: 3, updatedNumberScheduled: 3 }
  check({ ...updated, numberAvailable: 2 }, `${waiting} 2 of 3 updated pods are available...`)
  check({ ...updated, numberAvailable: 3 }, 'daemon set "web" successfully rolled out')
  assert.throws(
    () => statusOf('DaemonSet.apps', { spec: { updateStrategy: { type: 'OnDelete' } } }),
    /only available/,
  )
})

test('the status of a stateful set tells what the rollout waits for', () => {
  const check = (status: JsonObject, text: string, rollingUpdate?: JsonObject) => {
    const updateStrategy = { type: 'RollingUpdate', ...(rollingUpdate && { rollingUpdate }) }
    assert.equal(
      statusOf('StatefulSet.apps', { spec: { replicas: 3, updateStrategy }, status }).text,
      `${text}\n`,
    )
  }
  check({ observedGeneration: 0 }, 'Waiting for statefulset spec update to be observed...')
  check({ readyReplicas: 1 }, 'Waiting for 2 pods to be ready...')
  const ready = { readyReplicas: 3, updateRevision: 'b', currentRevision: 'a', updatedReplicas: 1 }
  check(ready, 'waiting for statefulset rolling update to complete 1 pods at revision b...')
  const done = { ...ready, currentRevision: 'b', currentReplicas: 3 }
  check(done, 'statefulset rolling update complete 3 pods at revision b...')
  const partition = { partition: 1 }
  check(
    ready,
    'Waiting for partitioned roll out to finish: 1 out of 2 new pods have been updated...',
    partition,
  )
  const partitioned = { ...ready, updatedReplicas: 2 }
  check(partitioned, 'partitioned roll out complete: 2 new pods have been updated...', partition)
})

test('kinds without rollouts have no status', () => {
  for (const groupKind of ['Pod', 'Service', 'Deployment.example.com', 'Job.batch']) {
    assert.equal(rolloutStatusReaderOf(groupKind), undefined)
  }
})
