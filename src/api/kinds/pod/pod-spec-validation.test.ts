import { test } from 'node:test'
import { podRules } from './pod-rules.ts'
import { container, pod, podWith, rulesUnderTest } from '../testdata/pods.ts'

const { check } = rulesUnderTest(podRules)

/** Checks the errors of a pod whose spec has these fields; paths are relative to the spec. */
function checkSpec(fields: object, ...errors: readonly string[]): void {
  check(pod(fields), ...errors.map(error => `spec.${error}`))
}

test('enumerated fields of a pod spec are validated', () => {
  checkSpec(
    { restartPolicy: 'Sometimes' },
    'restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
  )
  checkSpec(
    { dnsPolicy: 'Any' },
    'dnsPolicy: Unsupported value: "Any": supported values: "ClusterFirstWithHostNet", ',
  )
  checkSpec(
    { preemptionPolicy: 'Now' },
    'preemptionPolicy: Unsupported value: "Now": supported values: "PreemptLower',
  )
  checkSpec({ os: { name: 'plan9' } }, 'os: Unsupported value: "plan9": supported values: "linux", "windows"')
  checkSpec({ os: {} }, 'os.name: Required value')
})

test('names of referenced objects in a pod spec are validated', () => {
  checkSpec({
    nodeName: 'n1',
    serviceAccountName: 'default',
    priorityClassName: 'high',
    runtimeClassName: 'kata',
  })
  for (const name of ['nodeName', 'serviceAccountName', 'priorityClassName', 'runtimeClassName']) {
    checkSpec(
      { [name]: 'A_' },
      `${name}: Invalid value: "A_": a lowercase RFC 1123 subdomain must consist of`,
    )
  }
  checkSpec({ hostname: 'a.b' }, 'hostname: Invalid value: "a.b": must not contain dots')
  checkSpec({ subdomain: 'A' }, 'subdomain: Invalid value: "A": a lowercase RFC 1123 label')
  checkSpec(
    { hostnameOverride: 'a.b', setHostnameAsFQDN: true },
    'hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true',
  )
})

test('activeDeadlineSeconds must be a positive int32', () => {
  checkSpec({ activeDeadlineSeconds: 1 })
  const range = 'must be between 1 and 2147483647, inclusive'
  checkSpec({ activeDeadlineSeconds: 0 }, `activeDeadlineSeconds: Invalid value: 0: ${range}`)
  checkSpec({ activeDeadlineSeconds: 2 ** 31 }, `activeDeadlineSeconds: Invalid value: 2147483648: ${range}`)
})

test('validation of tolerations', () => {
  const tolerations = (toleration: object): object => ({ tolerations: [toleration] })
  checkSpec(tolerations({ operator: 'Exists' }))
  checkSpec(tolerations({ key: 'a', value: 'b', effect: 'NoExecute', tolerationSeconds: 5 }))
  checkSpec(
    tolerations({}),
    'tolerations[0].operator: Invalid value: "": operator must be Exists when `key` is empty',
  )
  checkSpec(
    tolerations({ key: 'a', operator: 'Exists', value: 'b' }),
    'tolerations[0].operator: Invalid value: "b": value must be empty when `operator` is \'Exists\'',
  )
  checkSpec(
    tolerations({ key: 'a', tolerationSeconds: 1 }),
    'tolerations[0].effect: Invalid value: "": effect must be \'NoExecute\' when `tolerationSeconds` is set',
  )
  checkSpec(
    tolerations({ key: 'a', effect: 'Never' }),
    'tolerations[0].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExe',
  )
  checkSpec(
    tolerations({ key: 'a', operator: 'In' }),
    'tolerations[0].operator: Unsupported value: "In": supported values: "Equal", "Exists"',
  )
  checkSpec(
    tolerations({ key: 'a', operator: 'Gt', value: '1' }),
    'tolerations[0].operator: Unsupported value: "Gt"',
  )
  checkSpec(tolerations({ key: 'a/b/c' }), 'tolerations[0].key: Invalid value: "a/b/c": a valid label key')
})

test('validation of node affinity', () => {
  const place = 'affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms'
  const required = (...nodeSelectorTerms: readonly object[]): object => {
    return {
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
    }
  }
  const preferred = (term: object): object => {
    return { affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [term] } } }
  }
  checkSpec(required({ matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] }))
  checkSpec(required(), `${place}: Required value: must have at least one node selector term`)
  checkSpec(
    required({ matchExpressions: [{}] }),
    `${place}[0].matchExpressions[0].operator: Invalid value: "": not a valid selector operator`,
    `${place}[0].matchExpressions[0].key: Invalid value: "": name part must be non-empty`,
    `${place}[0].matchExpressions[0].key: Invalid value: "": name part must consist of`,
  )
  checkSpec(
    required({ matchFields: [{ key: 'metadata.uid', operator: 'In', values: ['x'] }] }),
    `${place}[0].matchFields[0].key: Invalid value: "metadata.uid": not a valid field selector key`,
  )
  checkSpec(
    preferred({ weight: 101, preference: {} }),
    'affinity.nodeAffinity.preferredDuringSchedulingIgnored' +
      'DuringExecution[0].weight: Invalid value: 101: must be in the range 1-100',
  )
  checkSpec({ nodeSelector: { 'a b': 'c' } }, 'nodeSelector: Invalid value: "a b": name part must consist of')
})

test('pod affinity requires a topology key', () => {
  const place = 'affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]'
  const term = (fields: object): object => {
    return { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [fields] } } }
  }
  checkSpec(term({ topologyKey: 'zone', labelSelector: {}, matchLabelKeys: ['a'] }))
  checkSpec(
    term({}),
    `${place}.topologyKey: Required value: can not be empty`,
    `${place}.topologyKey: Invalid value: "": name part must be non-empty`,
    `${place}.topologyKey: Invalid value: ""`,
  )
  checkSpec(term({ topologyKey: 'zone', namespaces: ['A'] }), `${place}.namespace: Invalid value: "A"`)
  checkSpec(
    term({ topologyKey: 'zone', matchLabelKeys: ['a'] }),
    `${place}.matchLabelKeys: Forbidden: must not be specified when labelSelector is not set`,
  )
  checkSpec(
    term({ topologyKey: 'zone', labelSelector: {}, matchLabelKeys: ['a'], mismatchLabelKeys: ['a'] }),
    `${place}.matchLabelKeys[0]: Invalid value: "a": exists in both matchLabelKeys and mismatchLabelKeys`,
  )
  checkSpec(
    term({ topologyKey: 'zone', labelSelector: { matchExpressions: [{ key: 'a', operator: 'In' }] } }),
    `${place}.labelSelector.matchExpressions[0].values: Required value: must be specified when \`operator\` is`,
  )
  checkSpec(
    { affinity: { podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 0 }] } } },
    'affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 0',
    'affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey: Required',
    'affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey: Invalid',
    'affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey: Invalid',
  )
})

test('validation of topology spread constraints', () => {
  const spread = (...list: readonly object[]): object => ({ topologySpreadConstraints: list })
  const constraint = {
    maxSkew: 1,
    topologyKey: 'zone',
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: {},
  }
  checkSpec(spread(constraint))
  checkSpec(
    spread({}),
    'topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero',
    'topologySpreadConstraints[0].topologyKey: Required value: can not be empty',
    'topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "": supported values: "DoNotSchedule", "Sched',
  )
  checkSpec(
    spread(constraint, constraint),
    'topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: ' +
      'Duplicate value: "{zone, ScheduleAnyway}"',
  )
  checkSpec(
    spread({ ...constraint, minDomains: 0 }),
    'topologySpreadConstraints[0].minDomains: Invalid value: 0: must be greater than zero',
    'topologySpreadConstraints[0].minDomains: Invalid value: 0: can only use minDomains if whenUnsatisfiable=DoNot',
  )
  checkSpec(
    spread({ ...constraint, nodeTaintsPolicy: 'Maybe' }),
    'topologySpreadConstraints[0].nodeTaintsPolicy: Unsupported value: "Maybe": supported values: "Honor", "Ignore"',
  )
})

test('validation of DNS config and host aliases', () => {
  checkSpec(
    { dnsPolicy: 'None' },
    'dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None',
  )
  checkSpec(
    { dnsPolicy: 'None', dnsConfig: {} },
    'dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None',
  )
  checkSpec({ dnsConfig: { nameservers: ['1.1.1.1'], searches: ['a.b.', '_tcp.x', '.'] } })
  checkSpec({ dnsConfig: { options: [{ name: 'ndots' }] } })
  checkSpec(
    { dnsConfig: { nameservers: ['1.1.1.1', '1.1.1.2', '1.1.1.3', 'x'] } },
    'dnsConfig.nameservers: Invalid value: ["1.1.1.1","1.1.1.2","1.1.1.3","x"]: must not have more than 3 nameservers',
    'dnsConfig.nameservers[3]: Invalid value: "x": must be a valid IP address',
  )
  checkSpec(
    { dnsConfig: { searches: ['A'] } },
    'dnsConfig.searches[0]: Invalid value: "A": a lowercase RFC 1123 subdomain',
  )
  checkSpec(
    { dnsConfig: { searches: Array.from({ length: 33 }, () => 'a') } },
    'dnsConfig.searches: Invalid value: ["a"',
  )
  checkSpec({ dnsConfig: { options: [{}] } }, 'dnsConfig.options[0]: Required value: must not be empty')
  checkSpec(
    { hostAliases: [{ ip: '1.2.3', hostnames: ['A'] }] },
    'hostAliases[0].ip: Invalid value: "1.2.3": must be a',
    'hostAliases[0].hostnames[0]: Invalid value: "A"',
  )
})

test('scheduling and readiness gates must be qualified names', () => {
  checkSpec({
    readinessGates: [{ conditionType: 'example.com/ready' }],
    schedulingGates: [{ name: 'example.com/a' }],
  })
  checkSpec(
    { readinessGates: [{ conditionType: 'a b' }] },
    'readinessGates[0].conditionType: Invalid value: "a b"',
  )
  checkSpec({ schedulingGates: [{ name: 'a' }, { name: 'a' }] }, 'schedulingGates[1]: Duplicate value: "a"')
  checkSpec(
    { schedulingGates: [{ name: 'a' }], nodeName: 'n' },
    'nodeName: Forbidden: cannot be set until all schedulingGates have been cleared',
  )
})

test('validation of the pod security context', () => {
  const context = (securityContext: object, spec: object = {}): object => ({ securityContext, ...spec })
  checkSpec(
    context({
      runAsUser: 0,
      fsGroup: 1,
      supplementalGroups: [2],
      seccompProfile: { type: 'RuntimeDefault' },
    }),
  )
  checkSpec(
    context({ runAsUser: -1 }),
    'securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647',
  )
  checkSpec(
    context({ supplementalGroups: [2 ** 31] }),
    'securityContext.supplementalGroups[0]: Invalid value: 2147483648',
  )
  checkSpec(
    context({ seccompProfile: {} }),
    'securityContext.seccompProfile.type: Required value: type is required when seccompProfile is set',
  )
  checkSpec(
    context({ seccompProfile: { type: 'Localhost' } }),
    'securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost',
  )
  checkSpec(
    context({ seccompProfile: { type: 'Localhost', localhostProfile: '../x' } }),
    'securityContext.seccompProfile.localhostProfile: Invalid value: "../x": must not contain \'..\'',
  )
  checkSpec(
    context({ seccompProfile: { type: 'Unconfined', localhostProfile: 'x' } }),
    'securityContext.seccompProfile.localhostProfile: Invalid value: {"type":"Unconfined","localhostProfile":"x"}:',
  )
  checkSpec(
    context({ appArmorProfile: { type: 'Localhost', localhostProfile: ' x' } }),
    'securityContext.appArmorProfile.localhostProfile: Invalid value: " x": must not be padded with whitespace',
  )
  checkSpec(
    context({ appArmorProfile: { type: 'Any' } }),
    'securityContext.appArmorProfile.type: Unsupported value: "Any"',
  )
  checkSpec(
    context({ fsGroupChangePolicy: 'x' }),
    'securityContext.fsGroupChangePolicy: Unsupported value: "x"',
  )
  checkSpec(
    context({ supplementalGroupsPolicy: 'x' }),
    'securityContext.supplementalGroupsPolicy: Unsupported value: "x"',
  )
  checkSpec(
    context({ seLinuxChangePolicy: 'MountOption' }),
    'securityContext.seLinuxChangePolicy: Unsupported value',
  )
  checkSpec(
    context({}, { hostPID: true, shareProcessNamespace: true }),
    'securityContext.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be ',
  )
})

test('sysctls must belong to namespaces that the pod does not share with the host', () => {
  const sysctls = (name: string | undefined, spec: object = {}): object => {
    return { securityContext: { sysctls: [{ name, value: '1' }] }, ...spec }
  }
  checkSpec(sysctls('net.ipv4.tcp_syncookies'))
  checkSpec(sysctls('net/ipv4/conf/eth0.1/forwarding'))
  checkSpec(sysctls(undefined), 'securityContext.sysctls[0].name: Required value')
  checkSpec(
    sysctls('a..b'),
    'securityContext.sysctls[0].name: Invalid value: "a..b": must have at most 253 characters',
  )
  checkSpec(
    sysctls('net/core/x', { hostNetwork: true }),
    'securityContext.sysctls[0].name: Invalid value: "net/core/x": may not be specified when \'hostNetwork\' is true',
  )
  checkSpec(
    sysctls('kernel.shmmax', { hostIPC: true }),
    'securityContext.sysctls[0].name: Invalid value: "kernel.shmmax": may not be specified when \'hostIPC\' is true',
  )
})

test('validation of the container security context', () => {
  const context = (securityContext: object): object => podWith({ securityContext })
  const place = 'spec.containers[0].securityContext'
  check(context({ privileged: true, capabilities: { add: ['NET_ADMIN'] }, runAsUser: 1 }))
  check(
    context({ privileged: true, allowPrivilegeEscalation: false }),
    `${place}: Invalid value: ` +
      '{"privileged":true,"allowPrivilegeEscalation":false}: cannot set `allowPrivilegeEscalation` to false and `pri',
  )
  check(
    context({ capabilities: { add: ['CAP_SYS_ADMIN'] }, allowPrivilegeEscalation: false }),
    `${place}: Invalid value`,
  )
  check(
    context({ procMount: 'Unmasked' }),
    `${place}.procMount: Invalid value: "Unmasked": \`hostUsers\` must be false`,
  )
  check(
    context({ procMount: 'None' }),
    `${place}.procMount: Unsupported value: "None": supported values: "Default"`,
  )
  check(podWith({ securityContext: { procMount: 'Unmasked' } }, { hostUsers: false }))
})

test('a pod with a user namespace must not share other host namespaces', () => {
  checkSpec(
    { hostUsers: false, hostNetwork: true, hostPID: true, hostIPC: true },
    'hostNetwork: Forbidden: when `hostUsers` is false',
    'HostPID: Forbidden: when `hostUsers` is false',
    'HostIPC: Forbidden: when `hostUsers` is false',
  )
})

test('Linux and Windows fields depend on spec.os', () => {
  checkSpec(
    { os: { name: 'linux' }, securityContext: { windowsOptions: {} } },
    'securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod',
  )
  checkSpec(
    { os: { name: 'windows' }, hostPID: true, securityContext: { runAsUser: 1, fsGroup: 2 } },
    'hostPID: Forbidden: cannot be set for a windows pod',
    'securityContext.fsGroup: Forbidden: cannot be set for a windows pod',
    'securityContext.runAsUser: Forbidden: cannot be set for a windows pod',
  )
  check(
    podWith({ securityContext: { privileged: false } }, { os: { name: 'windows' } }),
    'spec.containers[0].securityContext.privileged: Forbidden: cannot be set for a windows pod',
  )
})

test('validation of Windows security options', () => {
  const options = (windowsOptions: object, spec: object = {}): object => {
    return { securityContext: { windowsOptions }, ...spec }
  }
  checkSpec(options({ runAsUserName: 'NT AUTHORITY\\SYSTEM' }))
  checkSpec(
    options({ runAsUserName: '' }),
    'securityContext.windowsOptions.runAsUserName: Invalid value: "": runAsUserName',
  )
  checkSpec(
    options({ runAsUserName: 'a\\b\\c' }),
    'securityContext.windowsOptions.runAsUserName: Invalid value: ' +
      '"a\\\\b\\\\c": runAsUserName cannot contain more than one backslash',
  )
  checkSpec(
    options({ runAsUserName: '..' }),
    'securityContext.windowsOptions.runAsUserName: Invalid value: "..": ' +
      "runAsUserName's User cannot contain only periods or spaces",
  )
  checkSpec(
    options({ gmsaCredentialSpec: '' }),
    'securityContext.windowsOptions.gmsaCredentialSpec: Invalid value: ""',
  )
  checkSpec(
    options({ hostProcess: true }),
    'hostNetwork: Invalid value: false: hostNetwork must be true if pod contains',
  )
  checkSpec(options({ hostProcess: true }, { hostNetwork: true }))
})

test('validation of pod resource claims', () => {
  checkSpec({
    resourceClaims: [
      { name: 'a', resourceClaimName: 'x' },
      { name: 'b', resourceClaimTemplateName: 'y' },
    ],
  })
  checkSpec(
    { resourceClaims: [{ name: 'a' }] },
    'resourceClaims[0]: Invalid value: {"Name":"a","ResourceClaimName":null,',
  )
  checkSpec(
    { resourceClaims: [{ resourceClaimName: 'X', resourceClaimTemplateName: 'y' }] },
    'resourceClaims[0].name: Required value',
    'resourceClaims[0]: Invalid value: {"Name":"","ResourceClaimName":"X"',
    'resourceClaims[0].resourceClaimName: Invalid value: "X"',
  )
})

test('validation of pod-level resources', () => {
  const resources = (ofPod: object, ofContainer: object): object => {
    return podWith({ resources: ofContainer }, { resources: ofPod })
  }
  check(resources({ limits: { cpu: '2', memory: '1Gi' } }, { requests: { cpu: '1' } }))
  check(
    resources({ requests: { cpu: '1' } }, { requests: { cpu: '2' } }),
    'spec.resources.requests[cpu]: ' +
      'Invalid value: "1": must be greater than or equal to aggregate container requests of 2',
  )
  check(
    resources({ limits: { cpu: '1' } }, { limits: { cpu: '2' }, requests: { cpu: '500m' } }),
    'spec.resources.containers[0][cpu].limits: Invalid value: "2": must be less than or equal to pod limits of 1',
  )
  check(
    resources({ requests: { 'ephemeral-storage': '1' } }, {}),
    'spec.resources.requests[ephemeral-storage]: ' +
      'Unsupported value: "ephemeral-storage": supported values: "cpu", "hugepages-", "memory"',
  )
  check(
    resources({ requests: { cpu: '1' }, claims: [{ name: 'x' }] }, {}),
    'spec.resources.claims: Forbidden: claims may not be set for Resources at pod-level',
    'spec.resources.claims[0]: Not found: "x": must be one of the names in pod.spec.resourceClaims which is empty',
  )
  checkSpec(
    { overhead: { gpu: '1' } },
    'overhead.limits[gpu]: Invalid value: "gpu": must be a standard resource type',
    'overhead.limits[gpu]: Invalid value: "gpu": must be a standard resource for containers',
  )
})

test('validation of well-known pod annotations', () => {
  const annotations = (map: object, spec: object = {}): object => pod(spec, { annotations: map })
  check(
    annotations({ 'kubernetes.io/config.mirror': 'x' }),
    'metadata.annotations[kubernetes.io/config.mirror]: ' +
      'Invalid value: "x": must set spec.nodeName if mirror pod annotation is set',
  )
  for (const cost of ['a', '+1', '01', '2147483648']) {
    check(
      annotations({ 'controller.kubernetes.io/pod-deletion-cost': cost }),
      `metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "${cost}": must be a 32bit`,
    )
  }
  check(
    annotations({ 'container.apparmor.security.beta.kubernetes.io/b': 'foo' }),
    'metadata.annotations[container.apparmor.security.beta.kubernetes.io/b]: Invalid value: "b": container not found',
    'metadata.annotations[container.apparmor.security.beta.kubernetes.io/b]: Invalid value: "foo": invalid AppArmor',
  )
  check(
    annotations({ 'seccomp.security.alpha.kubernetes.io/pod': 'x' }),
    'metadata.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value: "x": must be a valid seccomp pr',
  )
  check(
    annotations(
      { 'seccomp.security.alpha.kubernetes.io/pod': 'unconfined' },
      { securityContext: { seccompProfile: { type: 'RuntimeDefault' } } },
    ),
    'spec.securityContext.seccompProfile.type: Forbidden: seccomp type in annotation and field must match',
  )
})

test('a new pod must not have ephemeral containers', () => {
  checkSpec(
    { ephemeralContainers: [container({ name: 'debug' })] },
    'ephemeralContainers: Forbidden: cannot be set on create',
  )
  checkSpec(
    { ephemeralContainers: [container({ ports: [{ containerPort: 1 }], targetContainerName: 'x' })] },
    'ephemeralContainers[0].name: Duplicate value: "a"',
    'ephemeralContainers[0].targetContainerName: Not found: "x"',
    'ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container',
    'ephemeralContainers: Forbidden: cannot be set on create',
  )
})
