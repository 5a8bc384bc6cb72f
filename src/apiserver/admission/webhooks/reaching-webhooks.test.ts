import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubernetesObject } from '#/api/metadata.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { WebhookCredentials } from '#/kubeconfig/webhook-kubeconfig.ts'
import type { HttpClientOptions, HttpConnect } from '#/platform/http-client.ts'
import { admitConnectOrCreate } from '../../registry/admit.ts'
import { systemWriteRequest } from '../../registry/system-write-request.ts'
import { AdmissionChain, type AdmissionPlugin } from '../admission-chain.ts'
import { mutatingAdmissionWebhook } from '../plugins/mutating-admission-webhook.ts'
import type { PluginContext } from '../plugin-context.ts'
import { fakeConnect } from '../../test-webhook-server.ts'
import { configMap, startWith } from '../testdata/plugin-server.ts'
import { validatingAdmissionWebhook } from '../plugins/validating-admission-webhook.ts'
import { credentialsFor } from '../../webhook-client.ts'

test('webhook credentials are selected by exact host or wildcard user name', () => {
  const check = (names: string, target: string, expected: string | undefined, current?: string): void => {
    const credentials = (name: string) => ({
      current: async () => ({ headers: { name } }),
      onUnauthorized: () => false,
    })
    const users: WebhookCredentials['users'] = new Map(
      names.split(' ').map(name => [name, credentials(name)]),
    )
    const found = credentialsFor({ users, ...(current && { current }) }, target)
    assert.equal(found, expected && users.get(expected), `${target} of ${names}`)
  }
  check('hook.ns.svc:443 *', 'hook.ns.svc:443', 'hook.ns.svc:443')
  check('hook.ns.svc *', 'hook.ns.svc:443', 'hook.ns.svc')
  check('hook.ns.svc *', 'hook.ns.svc:8443', '*')
  check('hook.ns.svc:8443 *', 'hook.ns.svc:8443', 'hook.ns.svc:8443')
  check('*.ns.svc *.svc', 'hook.ns.svc:443', '*.ns.svc')
  check('*.svc', 'hook.ns.svc:443', '*.svc')
  check('*.svc:8443', 'hook.ns.svc:8443', '*.svc:8443')
  check('*.svc other', 'hook.example.com:443', undefined)
  check('other', 'hook.example.com:443', 'other', 'other')
  check('other *', 'hook.example.com:443', '*', 'other')
  check('constructor', '__proto__:443', undefined)
})

const service = (fields: object): object => ({
  kind: 'Service',
  apiVersion: 'v1',
  metadata: { name: 'hook' },
  spec: { ports: [{ name: 'web', port: 443 }], ...fields },
})

const slice = (name: string, endpoints: readonly object[], fields: object = {}): object => ({
  kind: 'EndpointSlice',
  apiVersion: 'discovery.k8s.io/v1',
  metadata: { name, labels: { 'kubernetes.io/service-name': 'hook' } },
  addressType: 'IPv4',
  ports: [{ name: 'web', port: 8443 }],
  endpoints,
  ...fields,
})

test('a webhook service resolves to a ready endpoint, or to its cluster IP', async t => {
  const check = async (expected: string, ...objects: readonly object[]): Promise<void> => {
    let connected: HttpClientOptions | undefined
    const connect = fakeConnect(async () => null)
    const connectHttp: HttpConnect = options => {
      connected = options
      return connect(options)
    }
    const context = { connectHttp }
    const { given, create } = await startWith(t, validatingAdmissionWebhook, { context })
    for (const object of objects) {
      const isService = (object as { kind: string }).kind === 'Service'
      const group = isService ? '/api/v1' : '/apis/discovery.k8s.io/v1'
      await given(`${group}/namespaces/default/${isService ? 'services' : 'endpointslices'}`, object)
    }
    const clientConfig = { service: { namespace: 'default', name: 'hook' } }
    await given(configurations('validating'), configuration({ clientConfig }))
    const outcome = await create('/api/v1/namespaces/default/configmaps', configMap('m'))
    if (connected) assert.equal(connected.tls?.serverName, 'hook.default.svc')
    assert.equal(connected?.origin ?? outcome.replace(/^.*timeout=10s": /u, ''), expected)
  }
  const ready = { addresses: ['10.0.0.7'], conditions: { ready: true } }
  const unready = { addresses: ['10.0.0.8'], conditions: { ready: false } }
  const ports = [{ name: 'other', port: 1 }]
  await check('https://10.0.0.7:8443', service({}), slice('a', [unready, ready]))
  await check('https://10.0.0.7:8443', service({}), slice('a', [unready]), slice('b', [ready]))
  await check(
    'https://[fd00::7]:8443',
    service({}),
    slice('a', [{ addresses: ['fd00::7'] }], { addressType: 'IPv6' }),
  )
  await check('no endpoints available for service "hook"', service({}), slice('a', [unready]))
  await check('no endpoints available for service "hook"', service({}), slice('a', [ready], { ports }))
  await check('no endpoints available for service "hook"', service({ clusterIP: 'None' }))
  await check('no service port 443 found for service "hook"', service({ ports: [{ port: 80 }] }))
  await check('service "hook" not found')
  await check('https://10.96.0.77:443', service({ clusterIP: '10.96.0.77' }))
  await check('https://example.com:443', service({ type: 'ExternalName', externalName: 'example.com' }))
})

test('webhooks fail without outgoing HTTP', async t => {
  const { given, create } = await startWith(t, validatingAdmissionWebhook)
  await given(configurations('validating'), configuration({}))
  assert.match(
    await create('/api/v1/namespaces/default/configmaps', configMap('m')),
    /^500 .*Post "https:\/\/example\.com\/\?timeout=10s": outgoing HTTP is not configured$/u,
  )
})

test('the path of a webhook is cleaned', async t => {
  const { given, create } = await startWith(t, validatingAdmissionWebhook)
  const clientConfig = { url: 'https://example.com//validate//pods/' }
  await given(configurations('validating'), configuration({ clientConfig }))
  assert.match(
    await create('/api/v1/namespaces/default/configmaps', configMap('m')),
    /Post "https:\/\/example\.com\/validate\/pods\?timeout=10s": /u,
  )
})

test('webhooks receive and mutate CONNECT requests', async t => {
  const asked: JsonValue[] = []
  const connectHttp = fakeConnect(async (_, question) => {
    asked.push(question)
    const { request } = question as { readonly request: { readonly uid: string } }
    const patch = Buffer.from('[{"op":"replace","path":"/container","value":"b"}]').toString('base64')
    const response = { uid: request.uid, allowed: true, patch, patchType: 'JSONPatch' }
    return { kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', response }
  })
  let plugin: AdmissionPlugin | undefined
  const make = (context: PluginContext): AdmissionPlugin => (plugin = mutatingAdmissionWebhook(context))
  const { given } = await startWith(t, make, { context: { connectHttp } })
  const rules = [{ operations: ['CONNECT'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods/exec'] }]
  await given(configurations('mutating'), configuration({ rules }))
  const options = { kind: 'PodExecOptions', apiVersion: 'v1', container: 'a', command: ['sh'] }
  const request = { ...systemWriteRequest(pods, 'p', 'default'), subresource: 'exec' }
  const admitted = await admitConnectOrCreate(
    { admission: new AdmissionChain([plugin!]) },
    { ...request, operation: 'CONNECT' },
    options as unknown as KubernetesObject,
  )
  assert.deepEqual(admitted, { ...options, container: 'b' })
  const {
    object,
    oldObject,
    options: sent,
    operation,
    kind,
  } = (asked[0] as { request: Record<string, unknown> }).request
  assert.deepEqual([object, oldObject, sent, operation], [options, null, null, 'CONNECT'])
  assert.deepEqual(kind, { group: '', version: 'v1', kind: 'PodExecOptions' })
})

test('webhooks receive the trace context of the request, and no invalid one', async t => {
  const received: (readonly unknown[])[] = []
  const connect = fakeConnect(async () => null)
  const connectHttp: HttpConnect = options => {
    const client = connect(options)
    const request: typeof client.request = sent => {
      const { traceparent, tracestate } = sent.headers ?? {}
      received.push([traceparent, tracestate])
      return client.request(sent)
    }
    return { ...client, request }
  }
  const { given, raw } = await startWith(t, validatingAdmissionWebhook, { context: { connectHttp } })
  await given(configurations('validating'), configuration({}))
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const sent: readonly Record<string, string>[] = [
    {},
    { traceparent },
    { traceparent, tracestate: 'a=1' },
    { traceparent: 'x' },
  ]
  for (const headers of sent)
    await raw('POST', '/api/v1/namespaces/default/configmaps', { body: configMap('m'), headers })
  const none = [undefined, undefined]
  assert.deepEqual(received, [none, [traceparent, undefined], [traceparent, 'a=1'], none])
})

function configurations(kind: string): string {
  return `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations`
}

function configuration(webhook: object): object {
  const usual = {
    name: 'a.example.com',
    clientConfig: { url: 'https://example.com' },
    rules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  }
  return { metadata: { name: 'c' }, webhooks: [{ ...usual, ...webhook }] }
}
