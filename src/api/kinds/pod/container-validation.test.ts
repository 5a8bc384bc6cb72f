import { test } from 'node:test'
import { podRules } from './pod-rules.ts'
import { container, pod, podWith, rulesUnderTest } from '../testdata/pods.ts'

const { check } = rulesUnderTest(podRules)

/** Checks the errors of a pod whose only container has these fields; paths are relative to the container. */
function checkContainer(fields: object, ...errors: readonly string[]): void {
  check(podWith(fields), ...errors.map(error => `spec.containers[0].${error}`))
}

test('a container requires a name and an image', () => {
  checkContainer({})
  checkContainer({ name: undefined }, 'name: Required value')
  checkContainer({ name: 'A_b' }, 'name: Invalid value: "A_b": a lowercase RFC 1123 label must consist of')
  checkContainer({ name: 'a.b' }, 'name: Invalid value: "a.b": must not contain dots')
  checkContainer({ image: '' }, 'image: Required value')
  checkContainer(
    { image: ' nginx' },
    'image: Invalid value: " nginx": must not have leading or trailing whitespace',
  )
  checkContainer(
    { imagePullPolicy: 'Sometimes' },
    'imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"',
  )
  checkContainer(
    { terminationMessagePolicy: 'Ask' },
    'terminationMessagePolicy: Unsupported value: "Ask": supported values: "File", "FallbackToLogsOnError"',
  )
})

test('a pod requires containers with unique names', () => {
  check(pod({ containers: [] }), 'spec.containers: Required value')
  check(pod({ containers: [container(), container()] }), 'spec.containers[1].name: Duplicate value: "a"')
  check(pod({ initContainers: [container()] }), 'spec.initContainers[0].name: Duplicate value: "a"')
})

test('validation of container ports', () => {
  const ports = (...list: readonly object[]): object => ({ ports: list })
  checkContainer(ports({ containerPort: 80 }, { containerPort: 81, name: 'http', protocol: 'UDP' }))
  checkContainer(ports({}), 'ports[0].containerPort: Required value')
  checkContainer(
    ports({ containerPort: 70_000 }),
    'ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive',
  )
  checkContainer(
    ports({ containerPort: 80, hostPort: -1 }),
    'ports[0].hostPort: Invalid value: -1: must be between 1 and 65535, inclusive',
  )
  checkContainer(
    ports({ containerPort: 80, protocol: 'HTTP' }),
    'ports[0].protocol: Unsupported value: "HTTP": supported values: "SCTP", "TCP", "UDP"',
  )
  checkContainer(
    ports({ containerPort: 80, name: 'HTTP' }),
    'ports[0].name: Invalid value: "HTTP": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
    'ports[0].name: Invalid value: "HTTP": must contain at least one letter (a-z)',
  )
  checkContainer(
    ports({ containerPort: 80, name: 'a' }, { containerPort: 81, name: 'a' }),
    'ports[1].name: Duplicate value: "a"',
  )
  check(
    pod({
      containers: [
        container({ ports: [{ containerPort: 80, hostPort: 80 }] }),
        container({ name: 'b', ports: [{ containerPort: 81, hostPort: 80 }] }),
      ],
    }),
    'spec.containers[1].ports[0].hostPort: Duplicate value: "TCP//80"',
  )
})

test('with hostNetwork the host port must equal the container port', () => {
  const ports = (port: object): object => podWith({ ports: [port] }, { hostNetwork: true })
  check(ports({ containerPort: 80 }))
  check(
    ports({ containerPort: 80, hostPort: 81 }),
    'spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true',
  )
})

test('an environment variable requires a name, and a value or exactly one source', () => {
  const env = (...list: readonly object[]): object => ({ env: list })
  checkContainer(env({ name: 'A', value: '1' }, { name: 'b.c-d e' }))
  checkContainer(env({}), 'env[0].name: Required value')
  checkContainer(
    env({ name: 'A=B' }),
    'env[0].name: Invalid value: "A=B": a valid environment variable name must',
  )
  checkContainer(
    env({ name: 'A', valueFrom: {} }),
    'env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`',
  )
  checkContainer(
    env({ name: 'A', value: 'x', valueFrom: { configMapKeyRef: { name: 'm', key: 'k' } } }),
    'env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty',
  )
  checkContainer(
    env({
      name: 'A',
      valueFrom: { configMapKeyRef: { name: 'm', key: 'k' }, secretKeyRef: { name: 'm', key: 'k' } },
    }),
    'env[0].valueFrom: Invalid value: "": may not have more than one field specified at a time',
  )
  checkContainer(
    env({ name: 'A', valueFrom: { secretKeyRef: { name: 's' } } }),
    'env[0].valueFrom.secretKeyRef.key: Required value',
  )
  checkContainer(
    env({ name: 'A', valueFrom: { secretKeyRef: { name: 'S', key: 'a b' } } }),
    'env[0].valueFrom.secretKeyRef.name: Invalid value: "S": a lowercase RFC 1123 subdomain must consist',
    'env[0].valueFrom.secretKeyRef.key: Invalid value: "a b": a valid config key must consist of',
  )
})

test('environment variables from pod fields and resources', () => {
  const fieldRef = (fieldPath: string, apiVersion = 'v1'): object => {
    return { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath, apiVersion } } }] }
  }
  const resourceFieldRef = (selector: object): object => {
    return { env: [{ name: 'A', valueFrom: { resourceFieldRef: selector } }] }
  }
  const paths = ['metadata.name', "metadata.labels['app']", 'status.podIPs', 'spec.host']
  for (const path of paths) checkContainer(fieldRef(path))
  checkContainer(fieldRef(''), 'env[0].valueFrom.fieldRef.fieldPath: Required value')
  checkContainer(
    fieldRef('metadata.labels'),
    'env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "metadata.labels": supported values: "metadata.name", ',
  )
  checkContainer(
    fieldRef('spec.foo'),
    'env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.foo": ' +
      'error converting fieldPath: field label not supported: spec.foo',
  )
  checkContainer(
    fieldRef("spec.foo['a']"),
    'env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.foo[\'a\']": ' +
      'error converting fieldPath: field label does not support subscript',
  )
  checkContainer(
    fieldRef('metadata.name', 'v2'),
    'env[0].valueFrom.fieldRef.fieldPath: Invalid value: ' +
      '"metadata.name": error converting fieldPath: unsupported pod version: v2',
  )
  checkContainer(resourceFieldRef({ resource: 'limits.cpu', divisor: '1m' }))
  checkContainer(resourceFieldRef({ resource: 'requests.hugepages-2Mi' }))
  checkContainer(resourceFieldRef({}), 'env[0].valueFrom.resourceFieldRef.resource: Required value')
  checkContainer(
    resourceFieldRef({ resource: 'limits.gpu' }),
    'env[0].valueFrom.resourceFieldRef.resource: Unsupported value: "limits.gpu": supported values: "limits.cpu", ',
  )
  checkContainer(
    resourceFieldRef({ resource: 'limits.cpu', divisor: '1Mi' }),
    'env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor\'s values 1m and 1 are',
  )
  checkContainer(
    resourceFieldRef({ resource: 'limits.memory', divisor: '3' }),
    'env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.memory": only divisor\'s values 1, 1k,',
  )
})

test('environment variables from files, ConfigMaps and Secrets', () => {
  const fileKeyRef = { volumeName: 'v', path: 'env', key: 'K' }
  const env = [{ name: 'A', valueFrom: { fileKeyRef } }]
  check(podWith({ env }, { volumes: [{ name: 'v', emptyDir: {} }] }))
  check(podWith({ env }), 'spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Not found: "v"')
  check(
    podWith({ env }, { volumes: [{ name: 'v', hostPath: { path: '/' } }] }),
    'spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Invalid value: "v": referenced volume must be of type',
  )
  checkContainer({ envFrom: [{ configMapRef: { name: 'm' }, prefix: 'A_' }] })
  checkContainer(
    { envFrom: [{}] },
    'envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`',
  )
  checkContainer(
    { envFrom: [{ configMapRef: {}, secretRef: { name: 's' } }] },
    'envFrom[0].configMapRef.name: Required value',
    'envFrom: Invalid value: "": may not have more than one field specified at a time',
  )
})

test('validation of container resources', () => {
  const resources = (limits: object, requests: object): object => ({ resources: { limits, requests } })
  checkContainer(resources({ 'cpu': '1', 'example.com/gpu': '2' }, { cpu: '500m', memory: '1Gi' }))
  checkContainer(
    resources({ cpu: '1' }, { cpu: '2' }),
    'resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
  )
  checkContainer(
    resources({}, { cpu: '-1' }),
    'resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0',
  )
  checkContainer(
    resources({}, { pods: '1' }),
    'resources.requests[pods]: Invalid value: "pods": must be a standard resource for containers',
  )
  checkContainer(
    resources({}, { gpu: '1' }),
    'resources.requests[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified',
    'resources.requests[gpu]: Invalid value: "gpu": must be a standard resource for containers',
  )
  checkContainer(
    resources({ 'example.com/gpu': '1500m' }, {}),
    'resources.limits[example.com/gpu]: Invalid value: "1500m": must be an integer',
    'resources.requests[example.com/gpu]: Invalid value: "1500m": must be an integer',
  )
  checkContainer(
    resources({}, { 'example.com/gpu': '1' }),
    'resources.limits: Required value: Limit must be set for non overcommitable resources',
  )
  checkContainer(
    resources({ 'example.com/gpu': '2' }, { 'example.com/gpu': '1' }),
    'resources.requests: Invalid value: "1": must be equal to example.com/gpu limit of 2',
  )
  checkContainer(
    resources({ 'hugepages-2Mi': '4Mi' }, {}),
    'resources: Forbidden: HugePages require cpu or memory',
  )
  checkContainer(
    resources({ 'hugepages-2Mi': '3Mi', 'cpu': '1' }, {}),
    'resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
    'resources.requests[hugepages-2Mi]: Invalid value: "3Mi"',
  )
})

test('container claims must refer to pod resource claims', () => {
  const claims = (...list: readonly object[]): object =>
    podWith(
      { resources: { claims: list } },
      {
        resourceClaims: [{ name: 'gpu', resourceClaimName: 'mine' }],
      },
    )
  check(claims({ name: 'gpu', request: 'one' }, { name: 'gpu', request: 'two' }))
  check(claims({}), 'spec.containers[0].resources.claims[0]: Required value')
  check(
    claims({ name: 'x' }),
    'spec.containers[0].resources.claims[0]: Not found: "x": ' +
      'must be one of the names in pod.spec.resourceClaims: gpu',
  )
  check(
    claims({ name: 'gpu' }, { name: 'gpu' }),
    'spec.containers[0].resources.claims[1]: Duplicate value: "gpu"',
  )
  check(
    claims({ name: 'gpu', request: 'one' }, { name: 'gpu' }),
    'spec.containers[0].resources.claims[1]: Duplicate value: "gpu"',
  )
})

test('validation of probes', () => {
  const exec = { command: ['true'] }
  checkContainer({ livenessProbe: { exec }, readinessProbe: { httpGet: { port: 80 } } })
  checkContainer({ startupProbe: { grpc: { port: 9 } } })
  checkContainer({ livenessProbe: {} }, 'livenessProbe: Required value: must specify a handler type')
  checkContainer(
    { livenessProbe: { exec, tcpSocket: { port: 80 } } },
    'livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type',
  )
  checkContainer({ livenessProbe: { exec: {} } }, 'livenessProbe.exec.command: Required value')
  checkContainer(
    { livenessProbe: { exec, successThreshold: 2 } },
    'livenessProbe.successThreshold: Invalid value: 2: must be 1',
  )
  checkContainer({ readinessProbe: { exec, successThreshold: 2 } })
  checkContainer(
    { readinessProbe: { exec, terminationGracePeriodSeconds: 5 } },
    'readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for readinessProbes',
  )
  checkContainer(
    { startupProbe: { exec, terminationGracePeriodSeconds: 0, periodSeconds: -1 } },
    'startupProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0',
    'startupProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0',
  )
  checkContainer(
    { readinessProbe: { httpGet: { scheme: 'FTP', httpHeaders: [{ name: 'a b', value: '' }] } } },
    'readinessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive',
    'readinessProbe.httpGet.scheme: Unsupported value: "FTP": supported values: "HTTP", "HTTPS"',
    'readinessProbe.httpGet.httpHeaders: Invalid value: "a b": a valid HTTP header must consist of',
  )
  checkContainer(
    { readinessProbe: { tcpSocket: { port: 'WEB' } } },
    'readinessProbe.tcpSocket.port: Invalid value: "WEB": must contain only alpha-numeric',
    'readinessProbe.tcpSocket.port: Invalid value: "WEB": must contain at least one letter',
  )
})

test('a lifecycle sleep must not exceed the grace period', () => {
  checkContainer({
    lifecycle: { preStop: { sleep: { seconds: 30 } }, postStart: { exec: { command: ['x'] } } },
  })
  checkContainer(
    { lifecycle: { preStop: { sleep: { seconds: 31 } } } },
    'lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)',
  )
  checkContainer(
    { lifecycle: { preStop: {} } },
    'lifecycle.preStop: Required value: must specify a handler type',
  )
})

test('validation of container restart policies and rules', () => {
  const rule = { action: 'Restart', exitCodes: { operator: 'In', values: [42] } }
  checkContainer({ restartPolicy: 'Never', restartPolicyRules: [rule] })
  checkContainer(
    { restartPolicyRules: [rule] },
    'restartPolicy: Required value: must specify restartPolicy when restart',
  )
  checkContainer(
    { restartPolicy: 'Never', restartPolicyRules: [{ action: 'Wait' }] },
    'restartPolicyRules[0].action: Unsupported value: "Wait": supported values: "Restart", "RestartAllContainers"',
    'restartPolicyRules[0].exitCodes: Required value: must be specified',
  )
  checkContainer(
    { restartPolicy: 'Sometimes' },
    'restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "Never", "OnFailure"',
  )
  checkContainer(
    { restartPolicy: 'Never', restartPolicyRules: Array.from({ length: 21 }, () => rule) },
    'restartPolicyRules: Too many: 21: must have at most 20 items',
  )
})

test('a resize policy applies to cpu and memory only', () => {
  const resizePolicy = [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }]
  checkContainer({ resizePolicy })
  checkContainer(
    { resizePolicy: [...resizePolicy, ...resizePolicy] },
    'resizePolicy[1]: Duplicate value: "cpu"',
  )
  checkContainer(
    { resizePolicy: [{ resourceName: 'disk', restartPolicy: '' }] },
    'resizePolicy: Unsupported value: "disk": supported values: "cpu", "memory"',
    'resizePolicy: Required value',
  )
  check(
    podWith({ resizePolicy }, { restartPolicy: 'Never' }),
    'spec.containers[0].resizePolicy: Invalid value: ' +
      "\"RestartContainer\": must be 'NotRequired' when pod `restartPolicy` is 'Never'",
  )
})

test('probes and lifecycle hooks are allowed only for sidecars among init containers', () => {
  const probe = { exec: { command: ['x'] } }
  const init = (fields: object): object => pod({ initContainers: [container({ name: 'i', ...fields })] })
  check(init({ restartPolicy: 'Always', livenessProbe: probe, lifecycle: { preStop: probe } }))
  check(
    init({ livenessProbe: probe, lifecycle: { preStop: probe } }),
    'spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always',
    'spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always',
  )
  check(
    init({ resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] }),
    'spec.initContainers[0].resizePolicy[0].restartPolicy: Invalid value: "RestartContainer": must not be set to',
  )
})
