import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatFieldError } from '../../field-error.ts'
import type { Pod } from '../../generated/core/v1.ts'
import { withPodDefaults } from './pod-defaults.ts'
import { podRules } from './pod-rules.ts'
import { validateEphemeralContainersUpdate } from './pod-update-validation.ts'
import { container, pod, podWith, rulesUnderTest } from '../testdata/pods.ts'

const { checkUpdate, checkStatus } = rulesUnderTest(podRules)

const onlySome =
  'spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,' +
  '`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,' +
  '`spec.tolerations` (only additions to existing tolerations),' +
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n'

test('mutable fields of a pod', () => {
  checkUpdate(podWith({ image: 'apache' }), pod())
  checkUpdate(pod({}, { labels: { a: 'b' } }), pod())
  checkUpdate(podWith({ command: ['x'] }), pod(), onlySome)
  checkUpdate(pod({ nodeName: 'b' }), pod({ nodeName: 'a' }), `${onlySome}-nodeName: "a"\n+nodeName: "b"\n`)
  checkUpdate(pod({ securityContext: { runAsUser: 0 } }), pod(), onlySome)
  checkUpdate(
    podWith({ image: '', imagePullPolicy: 'Always' }),
    pod(),
    'spec.containers[0].image: Required value',
  )
  checkUpdate(
    pod({ containers: [container(), container({ name: 'b' })] }),
    pod(),
    'spec.containers: Forbidden: pod updates may not add or remove containers',
  )
})

test('a semantically equal pod spec is no change', () => {
  checkUpdate(pod(), pod({ hostNetwork: false, tolerations: [], nodeSelector: {}, hostname: '' }))
  checkUpdate(podWith({ stdin: false, args: [] }), pod())
})

test('activeDeadlineSeconds may be set and reduced', () => {
  checkUpdate(pod({ activeDeadlineSeconds: 5 }), pod())
  checkUpdate(pod({ activeDeadlineSeconds: 5 }), pod({ activeDeadlineSeconds: 9 }))
  checkUpdate(
    pod({ activeDeadlineSeconds: 9 }),
    pod({ activeDeadlineSeconds: 5 }),
    'spec.activeDeadlineSeconds: Invalid value: 9: must be less than or equal to previous value',
  )
  checkUpdate(
    pod(),
    pod({ activeDeadlineSeconds: 5 }),
    'spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value',
  )
})

test('tolerations may be added', () => {
  const a = { key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 1 }
  const b = { key: 'b', operator: 'Exists' }
  checkUpdate(pod({ tolerations: [b, { ...a, tolerationSeconds: 9 }] }), pod({ tolerations: [a] }))
  checkUpdate(
    pod({ tolerations: [b] }),
    pod({ tolerations: [a] }),
    'spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds',
  )
})

test('scheduling gates may be removed, and a gated pod may restrict its node selection', () => {
  const gated = (spec: object = {}): object => pod({ schedulingGates: [{ name: 'x' }], ...spec })
  const affinity = (...nodeSelectorTerms: readonly object[]): object => {
    return {
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
    }
  }
  const term = { matchExpressions: [{ key: 'a', operator: 'Exists' }] }
  const terms = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms'
  checkUpdate(pod(), gated())
  checkUpdate(
    gated(),
    pod(),
    "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'x'",
  )
  checkUpdate(gated({ nodeSelector: { a: 'b', c: 'd' } }), gated({ nodeSelector: { a: 'b' } }))
  checkUpdate(
    gated({ nodeSelector: { a: 'c' } }),
    gated({ nodeSelector: { a: 'b' } }),
    'spec.nodeSelector: Invalid value: {"a":"c"}: only additions to spec.nodeSelector are allowed (no mutations or',
  )
  checkUpdate(pod({ nodeSelector: { a: 'b' } }), pod(), onlySome)
  checkUpdate(gated(affinity(term)), gated())
  const narrower = { matchExpressions: [...term.matchExpressions, { key: 'b', operator: 'Exists' }] }
  checkUpdate(gated(affinity(narrower)), gated(affinity(term)))
  checkUpdate(
    gated(affinity(term)),
    gated(affinity(narrower)),
    `${terms}[0]: Invalid value: {"matchExpressions":[{"key":"a","operator":"Exists"}]}: only additions are allowed`,
  )
  checkUpdate(gated(affinity(term, term)), gated(affinity(term)), `${terms}: Invalid value: `)
})

test('profile annotations of a pod are immutable', () => {
  const annotated = (value: string): object =>
    pod(
      {},
      {
        annotations: { 'container.apparmor.security.beta.kubernetes.io/a': value },
      },
    )
  const key = 'metadata.annotations[container.apparmor.security.beta.kubernetes.io/a]'
  checkUpdate(annotated('unconfined'), pod(), `${key}: Forbidden: may not add AppArmor annotations`)
  checkUpdate(
    pod(),
    annotated('unconfined'),
    `${key}: Forbidden: may not remove or update AppArmor annotations`,
  )
})

test('ephemeral containers may only be added', () => {
  const debugged = (...list: readonly object[]): Pod => withPodDefaults(pod({ ephemeralContainers: list }))
  const checkDebug = (after: Pod, old: Pod, ...errors: readonly string[]): void => {
    const texts = validateEphemeralContainersUpdate(after, old).map(formatFieldError)
    assert.deepEqual(
      texts.map(text => text.split('\n')[0]),
      errors,
    )
  }
  const one = container({ name: 'x', targetContainerName: 'a' })
  const field = 'spec.ephemeralContainers'
  checkDebug(debugged(one), debugged())
  checkDebug(debugged(one, container({ name: 'y' })), debugged(one))
  checkDebug(
    debugged(),
    debugged(one),
    `${field}: Forbidden: existing ephemeral containers "x" may not be removed`,
  )
  checkDebug(
    debugged(container({ name: 'x', image: 'b' })),
    debugged(one),
    `${field}: Forbidden: existing ephemeral containers "x" may not be changed`,
  )
  checkDebug(
    debugged(container({ name: 'x', livenessProbe: { exec: { command: ['x'] } } })),
    debugged(),
    `${field}[0].livenessProbe: Forbidden: cannot be set for an Ephemeral Container`,
  )
  const mirror: Pod = { ...debugged(), metadata: { annotations: { 'kubernetes.io/config.mirror': 'x' } } }
  checkDebug(debugged(one), mirror, ': Forbidden: static pods do not support ephemeral containers')
})

test('validation of pod status', () => {
  const status = (fields: object, spec: object = {}): object => ({ ...pod(spec), status: fields })
  checkStatus(status({ podIP: '10.0.0.1', hostIP: '10.0.0.2', hostIPs: [{ ip: '10.0.0.2' }] }), status({}))
  checkStatus(
    status({ qosClass: 'Guaranteed' }),
    status({ qosClass: 'BestEffort' }),
    'status.qosClass: Invalid value: "Guaranteed": field is immutable',
  )
  checkStatus(
    status({ podIPs: [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }] }),
    status({}),
    'status.podIPs: Invalid value: [{"ip":"10.0.0.1"},{"ip":"10.0.0.2"}]: may specify no more than one IP for each',
  )
  checkStatus(
    status({ podIPs: [{ ip: 'x' }] }),
    status({}),
    'status.podIPs[0]: Invalid value: "x": must be a valid IP',
  )
  checkStatus(
    status({ hostIPs: [{ ip: '10.0.0.2' }] }),
    status({}),
    'status.hostIPs[0].ip: Invalid value: "10.0.0.2": must be equal to `hostIP`',
  )
  checkStatus(
    status({ conditions: [{ type: 'a b', status: 'True' }] }),
    status({}),
    'status.conditions[0].Type: Invalid value',
  )
  checkStatus(status({ nominatedNodeName: 'n' }), status({}))
  checkStatus(
    status({ nominatedNodeName: 'n' }, { nodeName: 'm' }),
    status({}, { nodeName: 'm' }),
    'status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node',
  )
  checkStatus(
    status({ observedGeneration: -1 }),
    status({}),
    'status.observedGeneration: Invalid value: -1: must be a non',
  )
  checkStatus(
    status({ resourceClaimStatuses: [{ name: 'x' }] }),
    status({}),
    'status.resourceClaimStatuses[0].name: Invalid value: "x": must match the name of an entry in `spec.resourceCl',
  )
  const claim = 'status.extendedResourceClaimStatus'
  const mapping = { containerName: 'x', resourceName: 'example.com/device', requestName: 'one' }
  const extended = (...requestMappings: readonly object[]): object =>
    status({ extendedResourceClaimStatus: { requestMappings, resourceClaimName: 'claim' } })
  checkStatus(
    extended(),
    status({}),
    `${claim}.requestMappings: Required value: at least one request mapping is req`,
  )
  checkStatus(
    extended(mapping),
    status({}),
    `${claim}.requestMappings[0].containerName: Invalid value: "x": must match the name of an entry in spec.initC`,
  )
  checkStatus(
    status({ extendedResourceClaimStatus: { requestMappings: [{ ...mapping, requestName: 'A' }] } }),
    status({}),
    `${claim}.requestMappings[0].containerName: Invalid value: "x"`,
    `${claim}.requestName: Invalid value: "A": a lowercase RFC 1123 label must`,
    `${claim}.resourceClaimName: Required value`,
  )
})

test('a terminated container must not become running again', () => {
  const states = (state: object, spec: object): object => ({
    ...pod(spec),
    status: { containerStatuses: [{ name: 'a', state }] },
  })
  const ended = { terminated: { exitCode: 1 } }
  const back = 'status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state'
  const cases: readonly (readonly [object, ...string[]])[] = [
    [{}],
    [{ restartPolicy: 'OnFailure' }],
    [{ restartPolicy: 'Never' }, back],
    [{ restartPolicy: 'Never', containers: [container({ restartPolicy: 'Always' })] }],
    [{ containers: [container({ restartPolicy: 'Never' })] }, back],
    [
      {
        containers: [
          container({
            restartPolicy: 'Never',
            restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [1] } }],
          }),
        ],
      },
    ],
  ]
  for (const [spec, ...errors] of cases)
    checkStatus(states({ running: {} }, spec), states(ended, spec), ...errors)
})
