import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Deployment } from '../../generated/apps/v1.ts'
import type { DaemonSet, StatefulSet } from '../../generated/apps/v1.ts'
import { selector, template } from '../testdata/pods.ts'
import { underTest } from '../testdata/check-rules.ts'
import { daemonSetRules } from './daemon-set-rules.ts'
import { deploymentRules } from './deployment-rules.ts'
import { appsRules } from './group.ts'
import { statefulSetRules } from './stateful-set-rules.ts'

const deployments = underTest(appsRules['Deployment'])
const replicaSets = underTest(appsRules['ReplicaSet'])
const daemonSets = underTest(appsRules['DaemonSet'])
const statefulSets = underTest(appsRules['StatefulSet'])
const revisions = underTest(appsRules['ControllerRevision'])

/** An object with a valid template and selector and these spec fields. */
function workload(fields: object = {}) {
  return { metadata: { name: 'web' }, spec: { selector, template: template(), ...fields } }
}

function specOf(object: object): Readonly<Record<string, unknown>> {
  return (object as { spec: Readonly<Record<string, unknown>> }).spec
}

test('all workload kinds validate their pod template', () => {
  const kinds = [
    [deployments, 'ReplicaSet', 'deployment'],
    [replicaSets, 'ReplicaSet', 'deployment'],
    [daemonSets, 'DaemonSet', 'daemonset'],
    [statefulSets, 'StatefulSet', 'statefulset'],
  ] as const
  for (const [{ check, checkUpdate }, owner, empty] of kinds) {
    check(workload())
    const mismatch =
      'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`'
    const isDaemon = owner === 'DaemonSet'
    check(
      workload({ selector: undefined }),
      ...(isDaemon ? [mismatch] : ['spec.selector: Required value', mismatch]),
    )
    check(
      workload({ selector: {} }),
      `spec.selector: Invalid value: {}: empty selector is invalid for ${empty}`,
    )
    check(workload({ selector: { matchLabels: { app: 'x' } } }), mismatch)
    // The template is not validated if the selector is invalid, except in a DaemonSet.
    check(
      workload({ selector: { matchExpressions: [{}] }, template: template({ containers: [] }) }),
      'spec.selector.matchExpressions[0].operator: Invalid value: "": not a valid selector operator',
      'spec.selector.matchExpressions[0].key: Invalid value: ""',
      'spec.selector.matchExpressions[0].key: Invalid value: ""',
      isDaemon ? 'spec.template.spec.containers: Required value' : 'spec.selector: Invalid value: {',
    )
    check(
      workload({ template: template({ restartPolicy: 'Never' }) }),
      'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
    )
    check(
      workload({ template: template({ activeDeadlineSeconds: 5 }) }),
      `spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ${owner} is not Supported`,
    )
    check(
      workload({ template: template({ containers: [] }) }),
      'spec.template.spec.containers: Required value',
    )
    check(
      workload({ template: { ...template({}, { labels: { 'app': 'web', 'a b': '' } }) } }),
      // A StatefulSet validates them twice, as in Kubernetes.
      ...Array(owner === 'StatefulSet' ? 2 : 1).fill(
        'spec.template.labels: Invalid value: "a b": name part must consist of',
      ),
    )
    check(
      workload({ minReadySeconds: -1 }),
      'spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0',
    )
    checkUpdate(workload({ template: template({ hostname: 'x' }) }), workload())
  }
})

test('defaults of Deployment', () => {
  const spec = specOf(deployments.withDefaults(workload()))
  const { selector: _, template: __, ...rest } = spec
  assert.deepEqual(rest, {
    replicas: 1,
    revisionHistoryLimit: 10,
    progressDeadlineSeconds: 600,
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } },
  })
})

test('validation of Deployment strategy', () => {
  const { check } = deployments
  const rolling = (rollingUpdate: object): object => workload({ strategy: { rollingUpdate } })
  check(rolling({ maxUnavailable: 0, maxSurge: 1 }))
  check(
    rolling({ maxUnavailable: 0, maxSurge: '0%' }),
    'spec.strategy.rollingUpdate.maxUnavailable: ' + 'Invalid value: 0: may not be 0 when `maxSurge` is 0',
  )
  check(
    rolling({ maxUnavailable: '101%', maxSurge: '200%' }),
    'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%',
  )
  check(
    rolling({ maxUnavailable: '5', maxSurge: -1 }),
    'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "5": a valid percent string must be a numeric string',
    'spec.strategy.rollingUpdate.maxSurge: Invalid value: -1: must be greater than or equal to 0',
  )
  check(workload({ strategy: { type: 'Recreate' } }))
  check(
    workload({ strategy: { type: 'Recreate', rollingUpdate: {} } }),
    "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
  )
  check(
    workload({ strategy: { type: 'BlueGreen' } }),
    'spec.strategy: Unsupported value: {"type":"BlueGreen"}: supported values: "Recreate", "RollingUpdate"',
  )
  check(workload({ replicas: -1 }), 'spec.replicas: Invalid value: -1: must be greater than or equal to 0')
  check(
    workload({ minReadySeconds: 600 }),
    'spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds',
  )
  check(workload({ revisionHistoryLimit: -1 }), 'spec.revisionHistoryLimit: Invalid value: -1')
})

test('workload selectors are immutable', () => {
  const other = {
    selector: { matchLabels: { app: 'web', b: 'c' } },
    template: template({}, { labels: { app: 'web', b: 'c' } }),
  }
  for (const { checkUpdate } of [deployments, replicaSets, daemonSets]) {
    checkUpdate(
      workload(other),
      workload(),
      'spec.selector: Invalid value: {"matchLabels":{"app":"web","b":"c"}}: field is immutable',
    )
  }
})

test('replica counts in a workload status must be consistent', () => {
  const { checkStatus } = deployments
  checkStatus({ status: { replicas: 2, readyReplicas: 1, availableReplicas: 1, collisionCount: 1 } }, {})
  checkStatus(
    { status: { replicas: 1, updatedReplicas: 2, availableReplicas: 1, collisionCount: 1 } },
    { status: { collisionCount: 2 } },
    'status.updatedReplicas: Invalid value: 2: cannot be greater than status.replicas',
    'status.availableReplicas: Invalid value: 1: cannot be greater than readyReplicas',
    'status.collisionCount: Invalid value: 1: cannot be decremented',
  )
  replicaSets.checkStatus(
    { status: { replicas: 0, fullyLabeledReplicas: 1, terminatingReplicas: -1 } },
    {},
    'status.fullyLabeledReplicas: Invalid value: 1: cannot be greater than',
    'status.terminatingReplicas: Invalid value: -1',
  )
  daemonSets.checkStatus({ status: { numberReady: -1 } }, {}, 'status.numberReady: Invalid value: -1')
  statefulSets.checkStatus(
    { status: { replicas: 1, availableReplicas: 1 } },
    {},
    'status.availableReplicas: Invalid value: 1: cannot be greater than status.readyReplicas',
  )
})

test('a DaemonSet rolling update has either maxSurge or maxUnavailable', () => {
  const { check } = daemonSets
  const rolling = (rollingUpdate: object): object => workload({ updateStrategy: { rollingUpdate } })
  const spec = specOf(daemonSets.withDefaults(workload()))
  assert.deepEqual(spec['updateStrategy'], {
    type: 'RollingUpdate',
    rollingUpdate: { maxUnavailable: 1, maxSurge: 0 },
  })
  check(rolling({ maxUnavailable: 0, maxSurge: '10%' }))
  check(
    rolling({ maxUnavailable: 0 }),
    'spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0',
  )
  check(
    rolling({ maxSurge: 1 }),
    'spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero',
  )
  check(workload({ updateStrategy: { type: 'OnDelete' } }))
  check(
    workload({ updateStrategy: { type: 'Never' } }),
    'spec.updateStrategy: Unsupported value: {"type":"Never"}: supported values: "RollingUpdate", "OnDelete"',
  )
})

test('templateGeneration of a DaemonSet counts template changes', () => {
  const key = 'deprecated.daemonset.template.generation'
  const fill = (object: object): DaemonSet => daemonSets.withDefaults(object) as DaemonSet
  const made = daemonSetRules.prepareForCreate?.(fill(workload())) as DaemonSet
  assert.equal(made.metadata.annotations?.[key], '1')
  assert.equal(made.status?.numberReady, 0)
  const same = daemonSetRules.prepareForUpdate?.(fill(workload({ minReadySeconds: 5 })), made)
  assert.equal(same?.metadata.annotations?.[key], '1')
  const other = daemonSetRules.prepareForUpdate?.(
    fill(workload({ template: template({ hostname: 'x' }) })),
    made,
  )
  assert.equal(other?.metadata.annotations?.[key], '2')
})

test('defaults of StatefulSet', () => {
  const claim = {
    metadata: { name: 'data' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1' } } },
  }
  const spec = specOf(statefulSets.withDefaults(workload({ volumeClaimTemplates: [claim] })))
  const { selector: _, template: __, ...rest } = spec
  assert.deepEqual(rest, {
    podManagementPolicy: 'OrderedReady',
    replicas: 1,
    revisionHistoryLimit: 10,
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
    persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
    volumeClaimTemplates: [
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        status: { phase: 'Pending' },
        metadata: { name: 'data' },
        spec: { ...claim.spec, volumeMode: 'Filesystem' },
      },
    ],
  })
  const strategy = { type: 'RollingUpdate' }
  const typed = specOf(statefulSets.withDefaults(workload({ updateStrategy: strategy })))
  assert.deepEqual(typed['updateStrategy'], strategy)
})

test('validation of StatefulSet volume claim templates', () => {
  const { check } = statefulSets
  const claim = (spec: object): object => ({ metadata: { name: 'data' }, spec })
  const mounting = template({
    containers: [{ name: 'a', image: 'x', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
  })
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
  check(workload({ template: mounting, volumeClaimTemplates: [claim(spec)] }))
  check(
    workload({ template: mounting }),
    'spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data"',
  )
  check(
    workload({ volumeClaimTemplates: [claim({})] }),
    'spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required',
    'spec.volumeClaimTemplates[0].spec.resources[storage]: Required value',
  )
  check(workload({ serviceName: 'A' }), 'spec.serviceName: Invalid value: "A"')
  check(
    workload({ podManagementPolicy: 'Any' }),
    "spec.podManagementPolicy: Invalid value: \"Any\": must be 'OrderedReady' or 'Parallel'",
  )
  check(
    workload({ updateStrategy: { type: 'OnDelete', rollingUpdate: { partition: 1 } } }),
    'spec.updateStrategy.rollingUpdate: Invalid value: {"partition":1}: only allowed for updateStrategy \'RollingU',
  )
  check(
    workload({ updateStrategy: { type: 'Any' } }),
    'spec.updateStrategy: Invalid value: {"type":"Any"}: must be',
  )
  check(
    workload({ updateStrategy: { rollingUpdate: { partition: -1 } }, ordinals: { start: -1 } }),
    'spec.updateStrategy.rollingUpdate.partition: Invalid value: -1',
    'spec.ordinals.start: Invalid value: -1',
  )
  check(
    workload({ persistentVolumeClaimRetentionPolicy: { whenScaled: 'Keep' } }),
    'spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: "Keep": supported values: "Retain"',
  )
})

test('mutable fields of StatefulSet', () => {
  const { checkUpdate } = statefulSets
  checkUpdate(workload({ replicas: 5, minReadySeconds: 1, ordinals: { start: 1 } }), workload())
  const detail =
    "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', " +
    "'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and " +
    "'minReadySeconds' are forbidden"
  checkUpdate(workload({ serviceName: 'b' }), workload({ serviceName: 'a' }), detail)
  checkUpdate(workload({ podManagementPolicy: 'Parallel' }), workload(), detail)
  const prepared = statefulSetRules.prepareForCreate?.(
    statefulSets.withDefaults(
      workload({ updateStrategy: { rollingUpdate: { maxUnavailable: 2 } } }),
    ) as StatefulSet,
  ) as StatefulSet
  assert.deepEqual(prepared.spec?.updateStrategy?.rollingUpdate, { partition: 0 })
  assert.deepEqual(statefulSetRules.names?.name('a.b'), ['must not contain dots'])
})

test('validation of ControllerRevision', () => {
  revisions.check({ revision: 1, data: { spec: {} } })
  revisions.check({ revision: -1 }, 'revision: Invalid value: -1', 'data: Required value: data is mandatory')
  revisions.check({ revision: 1, data: [] }, 'data: Required value: data must be a valid JSON object')
  revisions.checkUpdate(
    { revision: 2, data: { a: 1 } },
    { revision: 1, data: { a: 2 } },
    'data: Invalid value: {"a":1}: field is immutable',
  )
})

test('template warnings are returned only for a changed template', () => {
  const old: Deployment = workload({
    template: template({ nodeSelector: { 'beta.kubernetes.io/os': 'linux' } }),
  })
  const warning =
    'spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; ' +
    'use "kubernetes.io/os" instead'
  assert.deepEqual(deploymentRules.warnings?.(old, undefined), [warning])
  assert.deepEqual(deploymentRules.warnings?.(old, old), [])
  assert.deepEqual(deploymentRules.warnings?.(old, workload()), [warning])
})

test('apps rules never throw on incomplete objects', () => {
  const odd = [
    {},
    { spec: {} },
    { spec: { selector: {}, template: {} } },
    { spec: { template: { spec: {} } }, status: {} },
  ]
  for (const kind of ['Deployment', 'ReplicaSet', 'DaemonSet', 'StatefulSet', 'ControllerRevision']) {
    const { check, checkUpdate, checkStatus } = underTest(appsRules[kind])
    for (const object of odd) {
      assert.throws(() => {
        check(object, 'never')
      }, assert.AssertionError)
      assert.throws(() => {
        checkUpdate(object, {}, 'never')
      }, assert.AssertionError)
      assert.throws(() => {
        checkStatus(object, {}, 'never')
      }, assert.AssertionError)
    }
  }
})
