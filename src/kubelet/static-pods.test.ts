import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pods } from '#/api/generated/core/v1-resources.ts'
import { parseManifest } from './pod-sources/parse-manifest.ts'
import { TestKubelet } from './test-kubelet.ts'

const options = {
  images: { i: { isPresent: true }, j: { isPresent: true } },
  containers: { web: { stopMs: 0 } },
}

function manifest(image = 'i'): string {
  return `apiVersion: v1
kind: Pod
metadata: { name: web }
spec:
  containers: [{ name: web, image: ${image}, imagePullPolicy: IfNotPresent }]
`
}

test('a static pod runs and has a mirror pod', async t => {
  const node = await TestKubelet.start(t, options)
  await node.writeManifest('web.yaml', manifest())
  await node.advance(2)
  assert.equal(await node.see('web-n1'), 'Running ready web=running')
  const mirror = await node.find('web-n1')
  const { annotations = {}, ownerReferences = [] } = mirror?.metadata ?? {}
  assert.equal(annotations['kubernetes.io/config.source'], 'file')
  assert.equal(annotations['kubernetes.io/config.mirror'], annotations['kubernetes.io/config.hash'])
  assert.equal(ownerReferences[0]?.kind, 'Node')
  assert.equal(node.kubelet.pod('default', 'web-n1')?.metadata.uid, annotations['kubernetes.io/config.hash'])
})

test('a deleted mirror pod is recreated while the static pod keeps running', async t => {
  const node = await TestKubelet.start(t, options)
  await node.writeManifest('web.yaml', manifest())
  await node.advance(2)
  const before = await node.find('web-n1')
  const id = await node.runningId('web')
  await node.delete('web-n1')
  await node.advance(2)
  const after = await node.find('web-n1')
  assert.notEqual(after?.metadata.uid, before?.metadata.uid)
  assert.equal(await node.see('web-n1'), 'Running ready web=running')
  assert.equal(await node.runningId('web'), id)
})

test('a changed manifest replaces the static pod', async t => {
  const node = await TestKubelet.start(t, options)
  await node.writeManifest('web.yaml', manifest())
  await node.advance(2)
  await node.writeManifest('web.yaml', manifest('j'))
  await node.advance(3)
  assert.equal(await node.see('web-n1'), 'Running ready web=running')
  assert.equal((await node.find('web-n1'))?.spec?.containers[0]?.image, 'j')
  assert.equal(await node.runtimeState(), '1/1 web#0 running')
})

test('removing a manifest removes the static pod and its mirror pod', async t => {
  const node = await TestKubelet.start(t, options)
  await node.writeManifest('web.yaml', manifest())
  await node.advance(2)
  await node.writeManifest('web.yaml', undefined)
  await node.advance(3)
  assert.equal(await node.see('web-n1'), 'gone')
  assert.equal(await node.runtimeState(), '0/0')
})

test('a static pod with a damaged manifest keeps running', async t => {
  const node = await TestKubelet.start(t, options)
  await node.writeManifest('web.yaml', manifest())
  await node.advance(2)
  await node.writeManifest('web.yaml', 'kind: Pod\nspec: [')
  await node.writeManifest('other.yaml', '\0')
  await node.advance(2)
  assert.equal(await node.see('web-n1'), 'Running ready web=running')
})

test('a restarted kubelet adopts static pods', async t => {
  const node = await TestKubelet.start(t, options)
  await node.writeManifest('web.yaml', manifest())
  await node.advance(2)
  const id = await node.runningId('web')
  await node.restart()
  await node.advance(2)
  assert.equal(await node.runningId('web'), id)
  assert.equal((await node.plane.run(node.plane.client.list(pods))).items.length, 1)
})

test('static pods start without the API server', async t => {
  const node = await TestKubelet.start(t, { ...options, isApiAway: true })
  await node.writeManifest('web.yaml', manifest())
  await node.advance(5)
  assert.equal(await node.runtimeState(), '1/1 web#0 running')
  node.isApiAway = false
  await node.advance(60)
  assert.equal(await node.see('web-n1'), 'Running ready web=running')
  assert.equal(await node.runtimeState(), '1/1 web#0 running')
})

test('parseManifest: other kinds and invalid pods are rejected', () => {
  const check = (text: string, expected: RegExp): void => {
    assert.throws(() => parseManifest(Buffer.from(text), { path: '/m/x.yaml', nodeName: 'n1' }), expected)
  }
  check('', /invalid pod/)
  check('kind: Service\napiVersion: v1', /Service/)
  check('kind: Pod\napiVersion: v1\nmetadata: {}\nspec: {containers: []}', /name is needed/)
  check(manifest().replace('name: web }', 'name: ../../etc }'), /lowercase/)
  check(manifest().replace('name: web }', 'name: web, uid: ../x }'), /lowercase/)
  check(manifest().replace('name: web,', 'name: WEB,'), /invalid pod/)
})

test('parseManifest: the UID is derived from content and file', () => {
  const parse = (text: string, path = '/m/x.yaml'): string | undefined => {
    return parseManifest(Buffer.from(text), { path, nodeName: 'n1' }).metadata.uid
  }
  assert.equal(parse(manifest()), parse(manifest()))
  assert.notEqual(parse(manifest()), parse(manifest('j')))
  assert.notEqual(parse(manifest()), parse(manifest(), '/m/y.yaml'))
  assert.match(parse(manifest()) ?? '', /^[0-9a-f]{32}$/)
})
