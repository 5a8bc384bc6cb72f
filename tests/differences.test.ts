import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { json } from '../tools/compare-servers/request.ts'
import { ServerConnection } from '../tools/compare-servers/server-connection.ts'
import { knownDifferences } from '../tools/compare-servers/known-differences.ts'
import { ChildCluster } from './clients/cluster.ts'

interface Shown {
  readonly status: number
  readonly mediaType: string
  readonly text: string
}

interface SendOptions {
  readonly accept?: string
  readonly body?: object
  readonly mediaType?: string
}

type Send = (method: string, path: string, options?: SendOptions) => Promise<Shown>

/** What our server answers deliberately, by the id in docs/differences.md. */
const answers: Readonly<Record<string, (send: Send) => Promise<void>>> = {
  'openapi-methods': async send => {
    for (const path of ['/openapi/v2', '/openapi/v3'])
      assert.equal((await send('POST', path)).status, 405, path)
  },
  'openapi-v3-json': async send => {
    const { status, mediaType } = await send('GET', '/openapi/v3')
    assert.deepEqual([status, mediaType], [200, 'application/json'])
    const accept = 'application/com.github.proto-openapi.spec.v3@v1.0+protobuf'
    const { status: asProtobuf } = await send('GET', '/openapi/v3/api/v1', { accept })
    assert.equal(asProtobuf, 406)
  },
  'openapi-descriptions': async send => {
    const { text } = await send('GET', '/openapi/v2')
    const { definitions } = JSON.parse(text) as { readonly definitions: Readonly<Record<string, Definition>> }
    const metadata = definitions['io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta']
    const property = definitions['io.k8s.api.core.v1.Pod']?.properties?.['metadata']
    assert.equal(property?.description, metadata?.description)
  },
  'metrics-api': async send => {
    assert.match((await send('GET', '/apis')).text, /"name":"metrics\.k8s\.io"/)
  },
  'job-success-policy': async send => {
    const containers = [{ name: 'main', image: 'example.com/main:1' }]
    const template = { spec: { containers, restartPolicy: 'Never' } }
    const successPolicy = { rules: [{ succeededIndexes: '0-1' }] }
    const spec = { completionMode: 'Indexed', parallelism: 2, successPolicy, template }
    const body = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'a' }, spec }
    const { status, text } = await send('POST', '/apis/batch/v1/namespaces/default/jobs', { body })
    assert.equal(status, 422)
    assert.match(text, /spec\.completions: Required value/)
  },
  'selectable-fields-panic': async send => {
    const { status, text } = await send('POST', definitions, { body: definition({ $ref: '#/x' }) })
    assert.equal(status, 422)
    assert.match(text, /\$ref is not supported/)
  },
  'custom-resource-protobuf': async send => {
    const body = definition({})
    assert.equal((await send('POST', definitions, { body })).status, 201)
    const path = '/apis/example.com/v1/namespaces/default/widgets'
    while ((await send('GET', path)).status !== 200) await setTimeout(50)
    const mediaType = 'application/vnd.kubernetes.protobuf'
    const { status, text } = await send('POST', path, { body: {}, mediaType })
    assert.equal(status, 400)
    assert.match(text, /the object provided is unrecognized/)
  },
  'strategic-patch-errors': async send => {
    const services = '/api/v1/namespaces/default/services/kubernetes'
    const mediaType = 'application/strategic-merge-patch+json'
    for (const port of [{}, 'x', null]) {
      const { status } = await send('PATCH', services, { body: { spec: { ports: [port] } }, mediaType })
      assert.equal(status, 422, JSON.stringify(port))
    }
  },
  'aggregated-roles': async send => {
    const { text } = await send('GET', '/apis/rbac.authorization.k8s.io/v1/clusterroles/admin')
    const { rules } = JSON.parse(text) as { readonly rules: readonly unknown[] }
    assert.ok(rules.length > 10)
  },
  'schema-default-order': async send => {
    const properties = { size: { type: 'wrong', default: 7 } }
    const { status, text } = await send('POST', definitions, { body: definition({ properties }) })
    assert.equal(status, 422)
    const { details } = JSON.parse(text) as { details: { causes: { field: string }[] } }
    const fields = details.causes.map(({ field }) => field)
    assert.match(fields.at(-1) ?? '', /\.default$/)
    assert.ok(fields.some(field => field.endsWith('.type')))
  },
  'health-checks': async send => {
    const { text } = await send('GET', '/readyz?verbose')
    assert.match(text, /^\[\+\]etcd-alarm\/nospace ok$/m)
    assert.doesNotMatch(text, /peer-endpoint|aggregator-reload-proxy-client-cert/)
  },
}

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

/** A CustomResourceDefinition with a selectable field. */
function definition(root: object): object {
  const properties = { size: { type: 'string' } }
  const schema = { openAPIV3Schema: { type: 'object', properties, ...root } }
  const selectableFields = [{ jsonPath: '.size' }]
  const versions = [{ name: 'v1', served: true, storage: true, schema, selectableFields }]
  const names = { plural: 'widgets', kind: 'Widget' }
  const spec = { group: 'example.com', scope: 'Namespaced', names, versions }
  return { metadata: { name: 'widgets.example.com' }, spec }
}

interface Definition {
  readonly description?: string
  readonly properties?: Readonly<Record<string, Definition>>
}

test('the server answers otherwise than upstream exactly where docs/differences.md says so', async () => {
  assert.deepEqual(Object.keys(answers).sort(), knownDifferences.map(({ id }) => id).sort())
  await using cluster = await ChildCluster.start({ store: 'memory' })
  await using server = await ServerConnection.open(cluster.kubeconfig)
  const send: Send = async (method, path, { accept, body, mediaType = 'application/json' } = {}) => {
    const request = {
      method,
      path,
      headers: { ...(accept && { accept }) },
      ...(body && { body: { ...json(body), mediaType } }),
    }
    const { status, headers, bytes } = await server.send(request)
    return { status, mediaType: headers['content-type'] ?? '', text: Buffer.from(bytes).toString() }
  }
  for (const check of Object.values(answers)) await check(send)
})
