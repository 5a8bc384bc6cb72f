import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodes } from '#/api/generated/core/v1-resources.ts'
import { startTestControlPlane } from '#/controllers/test-control-plane.ts'
import { waitForNode } from './host-phases.ts'

test('a host has joined when its kubelet has a certificate, also if its Node is left from before', async t => {
  const { client, run, platform } = await startTestControlPlane(t, [])
  await run(client.create(nodes, { metadata: { name: 'n1' } }))
  const options = { platform, settings: { nodeName: 'n1', folder: '/host' }, timeoutMs: 5_000 }
  await assert.rejects(
    run(waitForNode(options, client)),
    /the kubelet of node n1 is not ready: it has no client certificate yet; see \/host\/logs\/kubelet.log/,
  )
  await run(platform.files.makeFolder('/host'))
  await run(platform.files.write('/host/kubelet.conf', ''))
  await run(waitForNode(options, client))
})

test('a host has not joined before its Node exists', async t => {
  const { client, run, platform } = await startTestControlPlane(t, [])
  await run(platform.files.makeFolder('/host'))
  await run(platform.files.write('/host/kubelet.conf', ''))
  const options = { platform, settings: { nodeName: 'n1', folder: '/host' }, timeoutMs: 5_000 }
  const waiting = waitForNode(options, client)
  await run(platform.clock.sleep(1_000))
  await run(client.create(nodes, { metadata: { name: 'n1' } }))
  await run(waiting)
})
