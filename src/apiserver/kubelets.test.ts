import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Node } from '#/api/generated/core/v1.ts'
import type { HttpClientOptions } from '#/platform/http-client.ts'
import { connectHttp } from '#/platform/node.ts'
import { startTestCluster } from './authz/test-cluster.ts'
import { Kubelets } from './kubelets.ts'

test("serving certificates of k8ts' kubelets are verified, those of others only with their own CA", async t => {
  const { registry, create } = await startTestCluster(t, { withoutRoles: true })
  await create(node('own', 'v1.36.4+k8ts.0.1.0'))
  await create(node('other', 'v1.36.4'))
  const isVerified = async (name: string, verifiesAll: boolean): Promise<boolean> => {
    const connections: HttpClientOptions[] = []
    await using kubelets = new Kubelets(registry, {
      tls: () => ({ ca: '' }),
      verifiesAll,
      connectHttp: options => {
        connections.push(options)
        return connectHttp(options)
      },
    })
    await kubelets.of(name)
    return connections[0]?.tls?.insecureSkipVerify !== true
  }
  assert.equal(await isVerified('own', false), true)
  assert.equal(await isVerified('other', false), false)
  assert.equal(await isVerified('other', true), true)
})

function node(name: string, kubeletVersion: string): Node {
  return {
    kind: 'Node',
    apiVersion: 'v1',
    metadata: { name },
    status: {
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port: 1 } },
      nodeInfo: { kubeletVersion } as NonNullable<NonNullable<Node['status']>['nodeInfo']>,
    },
  }
}
