import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectOf } from '../../metadata.ts'
import type { JsonObject } from '../../text/json-object.ts'
import fc from 'fast-check'
import type { Pod } from '../../generated/core/v1.ts'
import { deepFreeze } from '../../text/json-value.ts'
import { qosClassOf } from '../../core/qos-class.ts'
import { replicationControllerRules } from '../core/replication-controller-rules.ts'
import { podRules, podTemplateRules } from './pod-rules.ts'
import {
  prepareEphemeralContainersUpdate,
  preparePodCreate,
  preparePodStatusUpdate,
  preparePodUpdate,
} from './pod-preparation.ts'
import { prepareResizeUpdate, validateResizeUpdate } from './pod-resize.ts'
import { validateEphemeralContainersUpdate } from './pod-update-validation.ts'
import { container, pod, podWith, rulesUnderTest, template } from '../testdata/pods.ts'
import { fullPod } from './test-full-pod.ts'

const { check, withDefaults } = rulesUnderTest(podRules)

/** The pod as the server stores it on creation. */
function created(given: object): Pod {
  return preparePodCreate(withDefaults(given) as Pod)
}

test('a new pod has phase Pending and its QoS class', () => {
  assert.deepEqual(created(pod()).status, { phase: 'Pending', qosClass: 'BestEffort' })
  const gated = pod({ schedulingGates: [{ name: 'x' }] })
  const creationTimestamp = '2026-01-01T00:00:00Z'
  const stamped = { ...gated, metadata: { ...gated.metadata, creationTimestamp } }
  assert.deepEqual(created(stamped).status, {
    conditions: [
      {
        type: 'PodScheduled',
        status: 'False',
        lastTransitionTime: creationTimestamp,
        reason: 'SchedulingGated',
        message: 'Scheduling is blocked due to non-empty scheduling gates',
      },
    ],
    phase: 'Pending',
    qosClass: 'BestEffort',
  })
})

test('the QoS class of a pod follows from its resources', () => {
  const exact = { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '1000m', memory: '1Gi' } }
  const cases: readonly (readonly [string, object])[] = [
    ['BestEffort', pod()],
    ['BestEffort', podWith({ resources: { requests: { 'ephemeral-storage': '1' } } })],
    ['Burstable', podWith({ resources: { requests: { cpu: '1' } } })],
    ['Burstable', podWith({ resources: { ...exact, requests: { cpu: '500m' } } })],
    ['Guaranteed', podWith({ resources: exact })],
    ['Burstable', pod({ containers: [container({ resources: exact }), container({ name: 'b' })] })],
    ['Burstable', podWith({ resources: exact }, { initContainers: [container({ name: 'i' })] })],
    ['Guaranteed', podWith({}, { resources: exact })],
    ['Burstable', podWith({ resources: exact }, { resources: { requests: { cpu: '2', memory: '2Gi' } } })],
  ]
  for (const [expected, given] of cases) {
    assert.equal(qosClassOf(withDefaults(given) as Pod), expected, JSON.stringify(given))
  }
  assert.equal(
    qosClassOf({ metadata: {}, spec: { containers: [] }, status: { qosClass: 'Guaranteed' } }),
    'Guaranteed',
  )
})

test('matchLabelKeys are merged into label selectors', () => {
  const { spec } = created(
    pod(
      {
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'zone',
            whenUnsatisfiable: 'DoNotSchedule',
            labelSelector: {},
            matchLabelKeys: ['a', 'b'],
          },
        ],
      },
      { labels: { a: '1' } },
    ),
  )
  assert.deepEqual(spec?.topologySpreadConstraints?.[0]?.labelSelector, {
    matchExpressions: [{ key: 'a', operator: 'In', values: ['1'] }],
  })
})

test('fields of disabled features are dropped from a pod', () => {
  const { spec } = created(
    podWith(
      { lifecycle: { stopSignal: 'SIGINT' } },
      {
        schedulingGroup: { podGroupName: 'x' },
        volumes: [
          { name: 'v', projected: { sources: [{ podCertificate: { signerName: 'x', keyType: 'y' } }] } },
        ],
      },
    ),
  )
  assert.equal(spec?.schedulingGroup, undefined)
  assert.deepEqual(spec?.containers[0]?.lifecycle, {})
  assert.deepEqual(spec?.volumes?.[0]?.projected?.sources, [{}])
})

test('an AppArmor annotation sets the appArmorProfile field', () => {
  const annotations = { 'container.apparmor.security.beta.kubernetes.io/a': 'localhost/x' }
  const { spec } = created(pod({}, { annotations }))
  assert.deepEqual(spec?.containers[0]?.securityContext, {
    appArmorProfile: { type: 'Localhost', localhostProfile: 'x' },
  })
})

test('AppArmor annotations are deprecated, which a warning tells before they become fields', () => {
  const key = 'container.apparmor.security.beta.kubernetes.io/a'
  const check = (spec: object, annotations: Record<string, string>, ...expected: readonly string[]): void => {
    assert.deepEqual(podRules.warningsBeforeCreate?.(pod(spec, { annotations })), expected)
  }
  const warning = `metadata.annotations[${key}]: deprecated since v1.30; use the "appArmorProfile" field instead`
  const appArmorProfile = { type: 'Unconfined' }
  check({}, { [key]: 'localhost/x' }, warning)
  check({}, { [key]: 'invalid' }, warning)
  check({}, { [`${key}bc`]: 'unconfined' })
  check({ securityContext: { appArmorProfile } }, { [key]: 'unconfined' })
  check({ securityContext: { appArmorProfile } }, { [key]: 'runtime/default' }, warning)
  check({ os: { name: 'windows' } }, { [key]: 'unconfined' })
})

test('a pod status update keeps fields that old kubelets omit', () => {
  const old: Pod = {
    metadata: {},
    status: {
      qosClass: 'BestEffort',
      observedGeneration: 3,
      conditions: [{ type: 'Ready', status: 'False', observedGeneration: 2 }],
    },
  }
  const status = { podIP: '10.0.0.1', conditions: [{ type: 'Ready', status: 'True' }] }
  assert.deepEqual(preparePodStatusUpdate({ metadata: {}, status }, old).status, {
    podIP: '10.0.0.1',
    podIPs: [{ ip: '10.0.0.1' }],
    qosClass: 'BestEffort',
    observedGeneration: 3,
    conditions: [{ type: 'Ready', status: 'True', observedGeneration: 2 }],
  })
})

test('selectable fields of Pod', () => {
  const made = withDefaults(pod()) as Pod
  const fields = Object.entries(podRules.selectableFields ?? {}).map(([name, read]) => [name, read(made)])
  assert.deepEqual(Object.fromEntries(fields), {
    'spec.nodeName': '',
    'spec.host': '',
    'spec.restartPolicy': 'Always',
    'spec.schedulerName': 'default-scheduler',
    'spec.serviceAccountName': '',
    'spec.hostNetwork': 'false',
    'status.phase': '',
    'status.podIP': '',
    'status.nominatedNodeName': '',
  })
})

test('the deletion grace period of a pod applies only once it is scheduled', () => {
  const grace = (spec: object, asked?: number, status: object = {}): number | undefined => {
    return podRules.gracePeriodSeconds?.({ metadata: {}, spec: { containers: [], ...spec }, status }, asked)
  }
  assert.equal(grace({ terminationGracePeriodSeconds: 30 }), 0)
  assert.equal(grace({ nodeName: 'n', terminationGracePeriodSeconds: 30 }), 30)
  assert.equal(grace({ nodeName: 'n', terminationGracePeriodSeconds: 30 }, 5), 5)
  assert.equal(grace({ nodeName: 'n' }, -1), 1)
  assert.equal(grace({ nodeName: 'n' }, 9, { phase: 'Failed' }), 0)
})

test('warnings for pods', () => {
  const warnings = (given: object): readonly string[] => {
    return podRules.warnings?.(withDefaults(given) as Pod, undefined) ?? []
  }
  const cases: readonly (readonly [object, ...string[]])[] = [
    [pod()],
    [
      pod({}, { name: 'a.b' }),
      "metadata.name: this is used in the Pod's hostname, which can result in surprising " +
        'behavior; a DNS label is recommended: [must not contain dots]',
    ],
    [
      pod({ nodeSelector: { 'beta.kubernetes.io/os': 'linux' } }),
      'spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
    ],
    [
      podWith({
        env: [
          { name: 'A', value: '1' },
          { name: 'A', value: '2' },
          { name: 'A', value: '$(A):3' },
        ],
      }),
      'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply',
    ],
    [
      podWith({ resources: { requests: { memory: '100m' } } }),
      'spec.containers[0].resources.requests[memory]: fractional byte value "100m" is invalid, must be an integer',
    ],
    [
      podWith({
        ports: [
          { containerPort: 80, name: 'x' },
          { containerPort: 80, name: 'x' },
        ],
      }),
      'spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]',
      'spec.containers[0].ports[1]: duplicate port name "x" with spec.containers[0].ports[0], services and ' +
        'probes that select ports by name will use spec.containers[0].ports[0]',
    ],
    [
      pod({ volumes: [{ name: 'v', gitRepo: { repository: 'x' } }] }),
      'spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+',
    ],
    [
      pod({
        volumes: [
          {
            name: 'v',
            configMap: {
              name: 'm',
              items: [
                { key: 'a', path: 'x' },
                { key: 'b', path: 'x/y' },
              ],
            },
          },
        ],
      }),
      'volume "v" (ConfigMap "m"): overlapping paths: "x/y" with "x"',
    ],
    [
      pod({ imagePullSecrets: [{ name: 'a' }, { name: 'a' }, {}] }),
      'spec.imagePullSecrets[1].name: duplicate name "a"',
      'spec.imagePullSecrets[2].name: invalid empty name ""',
    ],
    [
      pod({ topologySpreadConstraints: [{ topologyKey: 'zone' }] }),
      'spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod',
    ],
    [
      pod({}, { annotations: { 'scheduler.alpha.kubernetes.io/critical-pod': '' } }),
      'metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+; use the ' +
        '"priorityClassName" field instead',
    ],
  ]
  for (const [given, ...expected] of cases) assert.deepEqual(warnings(given), expected)
})

test('a ReplicationController defaults its selector from the template labels', () => {
  const rules = rulesUnderTest(replicationControllerRules)
  const { metadata, spec } = rules.withDefaults({ spec: { template: template() } }) as unknown as {
    metadata: object
    spec: { selector: object; replicas: number }
  }
  assert.deepEqual(metadata, { labels: { app: 'web' } })
  assert.deepEqual([spec.selector, spec.replicas], [{ app: 'web' }, 1])
  rules.check({ spec: { template: template() } })
  rules.check({ spec: {} }, 'spec.selector: Required value', 'spec.template: Required value')
  const odd = { selector: { app: 'x' }, template: template({ restartPolicy: 'Never' }) }
  rules.check(
    { spec: { replicas: -1, minReadySeconds: -1, ...odd } },
    'spec.minReadySeconds: Invalid value: -1',
    'spec.replicas: Invalid value: -1',
    'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
    'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
  )
  rules.checkStatus(
    { status: { replicas: 1, readyReplicas: 2, availableReplicas: 3 } },
    {},
    'status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas',
    'status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas',
    'status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas',
  )
})

test('a PodTemplate is validated like a pod', () => {
  const rules = rulesUnderTest(podTemplateRules)
  rules.check({ template: template() })
  rules.check({}, 'template.spec.containers: Required value')
  rules.check(
    { template: template({ ephemeralContainers: [container({ name: 'x' })] }) },
    'template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template',
  )
})

/** Runs all rules on a pod, in the order of the server. */
function runAll(given: Pod, stored: Pod): void {
  const [object, old] = [withDefaults(given) as Pod, withDefaults(stored) as Pod]
  const made = deepFreeze(preparePodCreate(object))
  podRules.validate?.(made)
  podRules.warnings?.(made, undefined)
  podRules.validateUpdate?.(preparePodUpdate(object), old)
  podRules.validateStatusUpdate?.(preparePodStatusUpdate(object, old), old)
  validateResizeUpdate(prepareResizeUpdate(object, old), old)
  validateEphemeralContainersUpdate(prepareEphemeralContainersUpdate(object, old), old)
}

test('a pod with every field is valid', () => {
  check(fullPod)
})

test('pod rules never throw on incomplete or malformed objects', () => {
  const odd = [undefined, '', 0, -1, 2 ** 53, true, '__proto__', 'constructor', '../..']
  /** Replaces scalars by unusual values of the same type and drops fields and items, driven by a seed. */
  const damage = (value: unknown, draw: () => number): unknown => {
    if (draw() % 40 === 0) return undefined
    if (Array.isArray(value)) return value.map(item => damage(item, draw)).filter(item => item !== undefined)
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(
        Object.entries(value)
          .map(([key, each]) => [key, damage(each, draw)])
          .filter(([, each]) => each !== undefined),
      )
    }
    const other = odd[draw() % odd.length]
    return draw() % 20 === 0 && typeof other === typeof value ? other : value
  }
  fc.assert(
    fc.property(fc.infiniteStream(fc.nat()), stream => {
      const draw = (): number => stream.next().value ?? 0
      const damaged = () => objectOf((damage(fullPod, draw) ?? {}) as JsonObject) as Pod
      runAll(damaged(), damaged())
    }),
    { numRuns: 150 },
  )
})

test('pod validation takes linear time', () => {
  const long = 'a.'.repeat(50_000)
  const many = <T>(item: (index: number) => T): T[] => Array.from({ length: 3000 }, (_, index) => item(index))
  const huge: Pod = pod({
    hostname: long,
    nodeName: long,
    securityContext: { sysctls: [{ name: `${long}-`, value: '' }] },
    containers: many(index =>
      container({
        name: `c${index}`,
        image: index === 0 ? long : 'a',
        ports: [{ containerPort: 80, hostPort: index }],
      }),
    ),
    volumes: many(index => ({
      name: `v${index}`,
      iscsi: { iqn: `iqn.2000-01.${'iqn.2000-01.'.repeat(20)}`, lun: 0 },
    })),
    tolerations: many(index => ({ key: `k${index}`, operator: 'Exists' })),
    topologySpreadConstraints: many(index => {
      return { maxSkew: 1, topologyKey: `k${index}`, whenUnsatisfiable: 'DoNotSchedule' }
    }),
  })
  runAll(huge, huge)
  // Each volume lacks a portal and a valid name; hostname, node name and a setting are invalid, the first two
  // twice.
  assert.equal(podRules.validate?.(created(huge)).length, 2 * 3000 + 5)
})
