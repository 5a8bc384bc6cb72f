import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clusterRoleBindings } from '#/api/generated/rbac/v1-resources.ts'
import { startTestControlPlane } from '#/controllers/test-control-plane.ts'
import { ensureTlsBootstrapRoleBindings } from './role-bindings.ts'

test('the bindings for TLS bootstrapping are created once, and existing ones stay unchanged', async t => {
  const plane = await startTestControlPlane(t, [])
  const own = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'our-nodes' }
  await plane.create(clusterRoleBindings, {
    metadata: { name: 'kubeadm:kubelet-bootstrap' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:node-bootstrapper' },
    subjects: [own],
  })
  const ensure = (): Promise<void> => {
    return plane.run(ensureTlsBootstrapRoleBindings(plane.client, plane.platform.log))
  }
  await ensure()
  await ensure()
  const bindings = (await plane.list(clusterRoleBindings)).filter(each => {
    return each.metadata.name.startsWith('kubeadm:')
  })
  const joining = 'system:bootstrappers:kubeadm:default-node-token'
  const roles = 'system:certificates.k8s.io:certificatesigningrequests'
  assert.deepEqual(
    bindings.map(
      ({ metadata, roleRef, subjects }) => `${metadata.name} ${roleRef.name} ${subjects?.[0]?.name}`,
    ),
    [
      `kubeadm:get-nodes kubeadm:get-nodes ${joining}`,
      'kubeadm:kubelet-bootstrap system:node-bootstrapper our-nodes',
      `kubeadm:node-autoapprove-bootstrap ${roles}:nodeclient ${joining}`,
      `kubeadm:node-autoapprove-certificate-rotation ${roles}:selfnodeclient system:nodes`,
    ],
  )
})
