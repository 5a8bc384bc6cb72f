/** The conformance test of CertificateSigningRequests, written from its description. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CertificateSigningRequest } from '#/api/generated/certificates/v1.ts'
import { certificateSigningRequests } from '#/api/generated/certificates/v1-resources.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'
import { testRequest } from './test-certificate-requests.ts'

const signerName = 'example.com/e2e'

async function read(plane: TestControlPlane, path: string): Promise<unknown> {
  const headers = { accept: 'application/json' }
  return plane.run(plane.client.raw({ method: 'GET', path, headers }).then(response => response.value()))
}

test('the group, its version and its resources can be discovered', async t => {
  const plane = await startTestControlPlane(t, [])
  const { groups = [] } = (await read(plane, '/apis')) as { groups?: { name: string }[] }
  assert.ok(groups.some(({ name }) => name === 'certificates.k8s.io'))
  const { versions = [] } = (await read(plane, '/apis/certificates.k8s.io')) as {
    versions?: { version: string }[]
  }
  assert.ok(versions.some(({ version }) => version === 'v1'))
  const { resources = [] } = (await read(plane, '/apis/certificates.k8s.io/v1')) as {
    resources?: { name: string; verbs: string[] }[]
  }
  const verbsOf = (name: string): readonly string[] => resources.find(each => each.name === name)?.verbs ?? []
  const all = ['create', 'get', 'list', 'watch', 'update', 'patch', 'delete', 'deletecollection']
  assert.deepEqual(
    all.filter(verb => !verbsOf('certificatesigningrequests').includes(verb)),
    [],
  )
  for (const part of ['approval', 'status']) {
    const verbs = verbsOf(`certificatesigningrequests/${part}`)
    assert.deepEqual(
      ['get', 'update', 'patch'].filter(verb => !verbs.includes(verb)),
      [],
    )
  }
})

test('CSRs and their subresources support every operation', async t => {
  const request = await testRequest({ commonName: 'e2e.example.com' })
  const plane = await startTestControlPlane(t, [])
  const { client, run } = plane
  const make = (name: string): Promise<CertificateSigningRequest> => {
    const metadata = { name, labels: { test: 'e2e' } }
    const usages = ['digital signature', 'key encipherment', 'server auth']
    return plane.create(certificateSigningRequests, { metadata, spec: { request, signerName, usages } })
  }
  await make('a')
  const seen: string[] = []
  const watching = (async () => {
    for await (const { type, object } of client.watch(certificateSigningRequests, { resourceVersion: '0' })) {
      seen.push(type)
      if (type === 'DELETED' && object.metadata.name === 'a') return
    }
  })()
  assert.equal((await run(client.get(certificateSigningRequests, { name: 'a' }))).spec.signerName, signerName)
  const fieldSelector = `spec.signerName=${signerName}`
  assert.equal((await run(client.list(certificateSigningRequests, { fieldSelector }))).items.length, 1)
  const annotate = { metadata: { annotations: { patched: 'true' } } }
  const patched = await run(
    client.patch(certificateSigningRequests, { name: 'a' }, { type: 'merge', patch: annotate }),
  )
  assert.equal(patched.metadata.annotations?.['patched'], 'true')
  const updated = await plane.change(certificateSigningRequests, 'a', each => ({
    ...each,
    metadata: { ...each.metadata, annotations: { updated: 'true' } },
  }))
  assert.deepEqual(updated.metadata.annotations, { updated: 'true' })
  const condition = { type: 'Approved', status: 'True', reason: 'E2E', message: 'Set by a test.' }
  const at = { name: 'a', subresource: 'approval' }
  const approved = await run(
    client.updateSubresource(certificateSigningRequests, at, {
      ...updated,
      status: { conditions: [condition] },
    }),
  )
  assert.equal(approved.status?.conditions?.[0]?.reason, 'E2E')
  const noted = {
    metadata: { annotations: { approval: 'x' } },
    status: { conditions: [condition, { ...condition, type: 'Note' }] },
  }
  const patchedApproval = await run(
    client.patch(certificateSigningRequests, at, { type: 'merge', patch: noted }),
  )
  assert.equal(patchedApproval.status?.conditions?.length, 2)
  const certificate = Buffer.from('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n').toString(
    'base64',
  )
  const issued = await run(
    client.patch(
      certificateSigningRequests,
      { name: 'a', subresource: 'status' },
      { type: 'merge', patch: { status: { certificate } } },
    ),
  )
  assert.equal(issued.status?.certificate, certificate)
  assert.deepEqual(
    await run(client.getSubresource(certificateSigningRequests, { name: 'a', subresource: 'status' })),
    issued,
  )
  await run(client.delete(certificateSigningRequests, { name: 'a' }))
  await run(watching)
  assert.deepEqual([seen[0], seen.at(-1)], ['ADDED', 'DELETED'])
  await make('b')
  await make('c')
  await run(client.deleteCollection(certificateSigningRequests, { labelSelector: 'test=e2e' }))
  assert.deepEqual(await plane.list(certificateSigningRequests), [])
})
