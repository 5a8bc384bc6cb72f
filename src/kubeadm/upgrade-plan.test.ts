import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatUpgradePlan, planUpgrade, upgradePlanFields, type UpgradeFacts } from './upgrade-plan.ts'

const target = 'v1.36.4+k8ts.0.2.0'
const old = 'v1.36.4+k8ts.0.1.0'

/** `NAME=ADDRESS:VERSION` for each. */
function facts(apiServers: string, nodes: string, isOneProcess: boolean): UpgradeFacts {
  const words = (text: string): string[] => text.split(' ').filter(word => word !== '')
  return {
    isOneProcess,
    apiServers: words(apiServers).map(word => {
      const [address = '', version = ''] = word.split('=')
      return { address, version }
    }),
    nodes: words(nodes).map(word => {
      const [name = '', address = '', kubeletVersion = ''] = word.split('=')
      const nodeInfo = { kubeletVersion } as NonNullable<
        NonNullable<UpgradeFacts['nodes'][0]['status']>['nodeInfo']
      >
      return { metadata: { name }, status: { addresses: [{ type: 'InternalIP', address }], nodeInfo } }
    }),
  }
}

test('a plan of several hosts has the control planes with their nodes, and the kubelets apart', () => {
  const hosts = facts(
    `10.0.0.1=${target} 10.0.0.2=${old}`,
    `a=10.0.0.1=${target} b=10.0.0.2=${old} w=10.0.0.3=${old}`,
    false,
  )
  const plan = planUpgrade(hosts, target)
  assert.equal(plan.clusterVersion, old)
  const rows = (all: typeof plan.nodes): string[] =>
    all.map(({ name, node, current }) => `${name} ${node} ${current}`)
  assert.deepEqual(rows(plan.controlPlane), [
    `kube-apiserver a ${target}`,
    `kube-controller-manager a ${target}`,
    `kube-scheduler a ${target}`,
    `kube-apiserver b ${old}`,
    `kube-controller-manager b ${old}`,
    `kube-scheduler b ${old}`,
  ])
  assert.deepEqual(rows(plan.nodes), [`kubelet a ${target}`, `kubelet b ${old}`, `kubelet w ${old}`])
  assert.match(
    formatUpgradePlan(plan),
    /^Components that must be upgraded on their hosts with 'k8ts upgrade node' after/,
  )
  assert.match(
    formatUpgradePlan(plan),
    new RegExp(`^kubelet {3,}w {3,}${old.replaceAll(/[.+]/g, '\\$&')} {3,}`, 'm'),
  )
  assert.match(formatUpgradePlan(plan), /^\tk8ts upgrade apply v1\.36\.4\+k8ts\.0\.2\.0$/m)
})

test('a cluster in one process is upgraded as a whole, and one that has the version is not', () => {
  const plan = planUpgrade(facts(`10.214.0.1=${old}`, `host=10.214.0.1=${old}`, true), target)
  assert.deepEqual(
    plan.controlPlane.map(({ name }) => name).join(),
    'kube-apiserver,kube-controller-manager,kube-scheduler,kubelet',
  )
  assert.deepEqual(plan.nodes, [])
  assert.deepEqual(upgradePlanFields(plan)['availableUpgrades'], [
    {
      description: 'this version of k8ts',
      components: plan.controlPlane.map(({ name, node }) => {
        return { name, currentVersion: old, newVersion: target, nodeName: node }
      }),
    },
  ])
  const current = planUpgrade(facts(`127.0.0.1=${target}`, '', true), target)
  assert.equal(current.isUpToDate, true)
  assert.equal(
    formatUpgradePlan(current),
    `All components have version ${target}: there is nothing to upgrade.\n`,
  )
})
