import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readControllerManagerConfiguration } from './configuration-file.ts'

const head =
  'apiVersion: kubecontrollermanager.config.k8s.io/v1alpha1\nkind: KubeControllerManagerConfiguration\n'

test('fields of the file are the flags of the same meaning', () => {
  const file = `${head}
Generic:
  Controllers: ['*', '-job']
  LeaderElection: { leaderElect: false, leaseDuration: 30s }
  ClientConnection: { qps: 50.5, kubeconfig: /etc/c.conf }
KubeCloudShared: { ClusterCIDR: '10.1.0.0/16,fd00::/48', AllocateNodeCIDRs: true }
DeploymentController: { ConcurrentDeploymentSyncs: 7 }
`
  assert.deepEqual(readControllerManagerConfiguration(file), {
    'controllers': ['*', '-job'],
    'leader-elect': false,
    'leader-elect-lease-duration': 30_000,
    'kube-api-qps': 50.5,
    'kubeconfig': '/etc/c.conf',
    'cluster-cidr': ['10.1.0.0/16', 'fd00::/48'],
    'allocate-node-cidrs': true,
    'concurrent-deployment-syncs': 7,
  })
})

test('what a file cannot mean is refused with the field', () => {
  const check = (text: string, message: RegExp): void => {
    assert.throws(() => readControllerManagerConfiguration(text), message)
  }
  check('kind: Pod', /must have apiVersion kubecontrollermanager\.config\.k8s\.io\/v1alpha1 and kind/)
  check('a: [', /^UsageError: /)
  check(
    `${head}Generic: { MinResyncPeriod: 1h }`,
    /^UsageError: field Generic\.MinResyncPeriod has no meaning/,
  )
  check(
    `${head}Generic: { LeaderElection: { leaseDuration: soon } }`,
    /Generic\.LeaderElection\.leaseDuration/,
  )
  check(
    `${head}JobController: { ConcurrentJobSyncs: null }`,
    /JobController\.ConcurrentJobSyncs: must be a value/,
  )
})
