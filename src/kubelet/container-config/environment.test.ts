import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EnvVar, Service } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { stored } from '../testdata/objects.ts'
import { environmentOf, expandCommand } from './environment.ts'
import { inputOf, type Given } from './test-input.ts'

const api = service('kubernetes', {
  namespace: 'default',
  address: '10.96.0.1',
  ports: [{ name: 'https', port: 443 }],
})
const database = service('my-db', {
  address: '10.96.0.2',
  ports: [{ port: 5432 }, { name: 'metrics-udp', port: 90, protocol: 'UDP' }],
})

function service(
  name: string,
  {
    namespace = 'shop',
    address = 'None',
    ports = [{ port: 80 }],
  }: {
    readonly namespace?: string
    readonly address?: string
    readonly ports?: NonNullable<Service['spec']>['ports']
  },
): Stored<Service> {
  return stored({ metadata: { name, namespace }, spec: { clusterIP: address, ports } })
}

/** `A=1 B=2`. */
async function environment(given: Given): Promise<string> {
  const found = await environmentOf(inputOf(given))
  return Array.from(found, ([name, value]) => `${name}=${value}`).join(' ')
}

const env = (...variables: EnvVar[]): Given => ({ container: { env: variables } })

test('environment variables keep their order, and later ones win', async () => {
  const given: Given = {
    container: {
      envFrom: [
        { configMapRef: { name: 'settings' } },
        { prefix: 'S_', secretRef: { name: 'keys' } },
        { configMapRef: { name: 'missing', optional: true } },
        { secretRef: { name: 'missing', optional: true } },
      ],
      env: [
        { name: 'COLOR', value: 'red' },
        { name: 'URL', value: 'http://$(HOST):$(S_PORT)/$(COLOR)/$(LATER)/$$(HOST)' },
        { name: 'LATER', value: 'x' },
        { name: 'NOTHING' },
      ],
    },
    configMaps: { settings: { HOST: 'h', COLOR: 'blue' } },
    secrets: { keys: { PORT: '99' } },
  }
  assert.equal(
    await environment(given),
    'HOST=h COLOR=red S_PORT=99 URL=http://h:99/red/$(LATER)/$(HOST) LATER=x NOTHING=',
  )
})

test('fieldRef variables have the fields of the pod', async () => {
  const cases: Readonly<Record<string, string>> = {
    'metadata.name': 'web',
    'metadata.namespace': 'shop',
    'metadata.uid': 'u-1',
    "metadata.labels['tier']": 'front',
    "metadata.labels['none']": '',
    "metadata.annotations['note']": 'a "quoted"\nnote',
    "metadata.annotations['Example.com/Key']": 'upper',
    'metadata.labels': 'app="web"\ntier="front"',
    'spec.nodeName': 'node-1',
    'spec.serviceAccountName': 'sa',
    'status.hostIP': '192.168.0.7',
    'status.hostIPs': '192.168.0.7',
    'status.podIP': '10.244.1.5',
    'status.podIPs': '10.244.1.5,fd00::5',
  }
  for (const [fieldPath, expected] of Object.entries(cases)) {
    const given = env({ name: 'A', valueFrom: { fieldRef: { fieldPath } } })
    const more = { podAddresses: ['fd00::5', '10.244.1.5'] }
    assert.equal(await environment({ ...given, more }), `A=${expected}`, fieldPath)
  }
})

test('resourceFieldRef variables have requests and limits', async () => {
  const resources = { requests: { cpu: '250m', memory: '64Mi' }, limits: { memory: '100M' } }
  const cases: readonly (readonly [string, string | undefined, string])[] = [
    ['requests.cpu', undefined, '1'],
    ['requests.cpu', '1m', '250'],
    ['requests.cpu', '0', '1'],
    ['requests.memory', undefined, '67108864'],
    ['requests.memory', '1Mi', '64'],
    ['limits.memory', '1Mi', '96'],
    ['limits.memory', '1M', '100'],
    // Defaults to the node's allocatable.
    ['limits.cpu', undefined, '4'],
    ['limits.ephemeral-storage', '1Gi', '90'],
    ['requests.ephemeral-storage', undefined, '0'],
    ['limits.hugepages-2Mi', undefined, '0'],
  ]
  for (const [resource, divisor, expected] of cases) {
    const resourceFieldRef = { resource, ...(divisor !== undefined && { divisor }) }
    const container = { resources, env: [{ name: 'A', valueFrom: { resourceFieldRef } }] }
    assert.equal(await environment({ container }), `A=${expected}`, `${resource} ${divisor}`)
  }
  const other = { containerName: 'helper', resource: 'limits.cpu', divisor: '1m' }
  const spec = { initContainers: [{ name: 'helper', resources: { limits: { cpu: '1500m' } } }] }
  assert.equal(
    await environment({ ...env({ name: 'A', valueFrom: { resourceFieldRef: other } }), spec }),
    'A=1500',
  )
  const ofPod = { resources: { limits: { cpu: '2' } } }
  const own = { resource: 'limits.cpu' }
  assert.equal(
    await environment({ ...env({ name: 'A', valueFrom: { resourceFieldRef: own } }), spec: ofPod }),
    'A=2',
  )
})

test('a missing reference is an error unless it is optional', async () => {
  const configMaps = { settings: { a: '1' } }
  const secrets = { keys: { a: '2' } }
  const key = (
    kind: 'configMapKeyRef' | 'secretKeyRef',
    name: string,
    key: string,
    optional = false,
  ): Given => {
    return { ...env({ name: 'A', valueFrom: { [kind]: { name, key, optional } } }), configMaps, secrets }
  }
  const from = (kind: 'configMapRef' | 'secretRef', name: string): Given => {
    return { container: { envFrom: [{ [kind]: { name } }] }, configMaps, secrets }
  }
  const field = (fieldPath: string): Given => env({ name: 'A', valueFrom: { fieldRef: { fieldPath } } })
  const resource = (resource: string, containerName = ''): Given => {
    return env({ name: 'A', valueFrom: { resourceFieldRef: { resource, containerName } } })
  }
  const found: readonly (readonly [Given, string])[] = [
    [key('configMapKeyRef', 'settings', 'a'), 'A=1'],
    [key('secretKeyRef', 'keys', 'a'), 'A=2'],
    [key('configMapKeyRef', 'settings', 'b', true), ''],
    [key('configMapKeyRef', 'none', 'b', true), ''],
    [key('secretKeyRef', 'keys', 'b', true), ''],
    [key('secretKeyRef', 'none', 'b', true), ''],
  ]
  for (const [given, expected] of found) assert.equal(await environment(given), expected)
  const refused: readonly (readonly [Given, string])[] = [
    [key('configMapKeyRef', 'settings', 'b'), "couldn't find key b in ConfigMap shop/settings"],
    [key('configMapKeyRef', 'none', 'b'), 'configmap "none" not found'],
    [key('secretKeyRef', 'keys', 'b'), "couldn't find key b in Secret shop/keys"],
    [key('secretKeyRef', 'none', 'b'), 'secret "none" not found'],
    [from('configMapRef', 'none'), 'configmap "none" not found'],
    [from('secretRef', 'none'), 'secret "none" not found'],
    [field('spec.containers'), 'unsupported fieldPath: spec.containers'],
    [field("spec['a']"), 'fieldPath "spec[\'a\']" does not support subscript'],
    [resource('limits.nothing'), 'unsupported container resource : limits.nothing'],
    [resource('cpu'), 'unsupported container resource : cpu'],
    [resource('limits.cpu', 'none'), 'container none not found'],
  ]
  for (const [given, message] of refused) await assert.rejects(environment(given), { message })
})

test('fileKeyRef variables are read from files of init containers', async () => {
  const fileKeyRef = { volumeName: 'shared', path: 'out/env', key: 'A' }
  const given = (more: object, text: string | undefined = "A='1'"): Given => ({
    ...env({ name: 'A', valueFrom: { fileKeyRef: { ...fileKeyRef, ...more } } }),
    volumes: [{ name: 'shared' }],
    files: text === '' ? {} : { 'shared/out/env': text },
  })
  assert.equal(await environment(given({})), 'A=1')
  assert.equal(await environment(given({ key: 'B', optional: true })), '')
  const refused: readonly (readonly [Given, string])[] = [
    [given({ key: 'B' }), 'environment variable key "B" not found in file "/volumes/shared/out/env"'],
    [given({ volumeName: 'none' }), 'cannot find the volume "none" referenced by FileKeyRef'],
    [given({}, 'A=1'), "couldn't parse env file"],
    [given({}, ''), "couldn't parse env file"],
  ]
  for (const [wrong, message] of refused) await assert.rejects(environment(wrong), { message })
})

test('service environment variables name the services of the namespace and the API server', async () => {
  const more = {
    services: [
      service('headless', {}),
      database,
      api,
      service('far', { namespace: 'x', address: '10.9.9.9' }),
    ],
  }
  const lines = (
    await environment({ container: { env: [{ name: 'A', value: '$(MY_DB_SERVICE_HOST)' }] }, more })
  ).split(' ')
  assert.deepEqual(lines, [
    'A=10.96.0.2',
    'MY_DB_SERVICE_HOST=10.96.0.2',
    'MY_DB_SERVICE_PORT=5432',
    'MY_DB_SERVICE_PORT_METRICS_UDP=90',
    'MY_DB_PORT=tcp://10.96.0.2:5432',
    'MY_DB_PORT_5432_TCP=tcp://10.96.0.2:5432',
    'MY_DB_PORT_5432_TCP_PROTO=tcp',
    'MY_DB_PORT_5432_TCP_PORT=5432',
    'MY_DB_PORT_5432_TCP_ADDR=10.96.0.2',
    'MY_DB_PORT_90_UDP=udp://10.96.0.2:90',
    'MY_DB_PORT_90_UDP_PROTO=udp',
    'MY_DB_PORT_90_UDP_PORT=90',
    'MY_DB_PORT_90_UDP_ADDR=10.96.0.2',
    'KUBERNETES_SERVICE_HOST=10.96.0.1',
    'KUBERNETES_SERVICE_PORT=443',
    'KUBERNETES_SERVICE_PORT_HTTPS=443',
    'KUBERNETES_PORT=tcp://10.96.0.1:443',
    'KUBERNETES_PORT_443_TCP=tcp://10.96.0.1:443',
    'KUBERNETES_PORT_443_TCP_PROTO=tcp',
    'KUBERNETES_PORT_443_TCP_PORT=443',
    'KUBERNETES_PORT_443_TCP_ADDR=10.96.0.1',
  ])
  const none = await environmentOf(inputOf({ spec: { enableServiceLinks: false }, more }))
  assert.ok([...none.keys()].every(name => name.startsWith('KUBERNETES_')))
  assert.equal(none.size, 8)
  const own = service('kubernetes', { address: '10.96.7.7' })
  for (const services of [
    [own, api],
    [api, own],
  ]) {
    const found = await environmentOf(inputOf({ more: { services } }))
    assert.equal(found.get('KUBERNETES_SERVICE_HOST'), '10.96.7.7', 'one of the own namespace goes before it')
  }
  const six = await environmentOf(inputOf({ more: { services: [service('six', { address: 'fd00::1' })] } }))
  assert.equal(six.get('SIX_PORT'), 'tcp://[fd00::1]:80')
  const mine = await environment({
    ...env({ name: 'KUBERNETES_PORT', value: 'mine' }),
    more: { services: [api] },
  })
  assert.match(mine, /^KUBERNETES_PORT=mine /, 'what the spec says goes before what services say')
})

test('command and args are expanded with all variables', () => {
  const container = { name: 'c', command: ['$(A)', '$$(A)'], args: ['-x=$(B)', '$(C)'] }
  const found = new Map([
    ['A', '1'],
    ['B', '2'],
  ])
  assert.deepEqual(expandCommand(container, found), { command: ['1', '$(A)'], args: ['-x=2', '$(C)'] })
})
