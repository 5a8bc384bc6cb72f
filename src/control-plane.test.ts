import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deployments } from '#/api/generated/apps/v1-resources.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import { ApiServer } from '#/apiserver/api-server.ts'
import { deploymentController } from '#/controllers/deployment.ts'
import { Simulation } from '#/platform/simulated.ts'
import { MemoryStore } from '#/store/memory.ts'
import { ControlPlane } from '#/cluster/control-plane.ts'
import { simulatedNode } from '#/cluster/simulated-nodes.ts'

const template = {
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'web', image: 'web' }] },
}

test('pendingWork lists the components with queued work', async () => {
  const simulation = new Simulation({ seed: 1 })
  const platform = simulation.host('cluster')
  const store = await simulation.run(MemoryStore.open({ platform }))
  const server = await simulation.run(ApiServer.start({ platform, store, build: { version: '0.0.0' } }))
  let isStuck = false
  const { promise: never } = Promise.withResolvers<never>()
  const isAdministrator = (username = ''): boolean => username === 'admin'
  const controlPlane = new ControlPlane({
    platform,
    controllers: [deploymentController],
    server: {
      handle: request => {
        const isHeld = isStuck && request.method !== 'GET' && !isAdministrator(request.peer.user?.username)
        return isHeld ? never : server.handle(request)
      },
    },
  })
  controlPlane.start()
  controlPlane.startNode(simulatedNode(0))
  await simulation.advance(1_000)
  assert.equal(controlPlane.isIdle, true)
  assert.deepEqual(controlPlane.pendingWork(), new Map())

  isStuck = true
  const client = controlPlane.clientAs('admin', ['system:masters'])
  const spec = { selector: { matchLabels: { app: 'web' } }, template }
  await simulation.run(client.create(deployments, { metadata: { namespace: 'default', name: 'web' }, spec }))
  const placed = {
    metadata: { namespace: 'default', name: 'placed' },
    spec: { ...template.spec, nodeName: 'node-1' },
  }
  await simulation.run(client.create(pods, placed))
  const waiting = { metadata: { namespace: 'default', name: 'waiting' }, spec: template.spec }
  await simulation.run(client.create(pods, waiting))
  await simulation.advance(1_000)
  assert.equal(controlPlane.isIdle, false)
  assert.deepEqual(
    controlPlane.pendingWork(),
    new Map([
      ['deployment-controller', ['default/web']],
      ['scheduler', ['default/waiting']],
      ['kubelet of node-1', ['default/placed']],
    ]),
  )
})
