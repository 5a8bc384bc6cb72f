import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod } from '#/api/generated/core/v1.ts'
import { daemonSetOf, drainErrors, drainWarning, planPod, type DrainPolicy } from './plan-drain.ts'

const strict: DrainPolicy = {
  force: false,
  ignoreDaemonSets: false,
  deleteEmptyDirData: false,
  skipDeletedSeconds: 0,
  nowMs: Date.parse('2026-01-01T01:00:00Z'),
}

const all = { force: true, ignoreDaemonSets: true, deleteEmptyDirData: true }

/** `ReplicaSet emptyDir Succeeded mirror deleted`: what the pod has. */
function pod(traits: string): Pod {
  const has = (trait: string): boolean => traits.split(' ').includes(trait)
  const kind = ['ReplicaSet', 'DaemonSet'].find(has)
  const owner = kind && { apiVersion: 'apps/v1', kind, name: 'web', uid: 'u', controller: true }
  return {
    metadata: {
      name: 'web-0',
      namespace: 'shop',
      ...(owner && { ownerReferences: [owner] }),
      ...(has('mirror') && { annotations: { 'kubernetes.io/config.mirror': 'x' } }),
      ...(has('deleted') && { deletionTimestamp: '2026-01-01T00:59:00Z' }),
    },
    spec: { containers: [], ...(has('emptyDir') && { volumes: [{ name: 'tmp', emptyDir: {} }] }) },
    status: { phase: has('Succeeded') ? 'Succeeded' : 'Running' },
  }
}

test('pods are deleted as far as the policy allows', () => {
  const check = (traits: string, policy: Partial<DrainPolicy>, verdict: string) => {
    const facts = { policy: { ...strict, ...policy }, daemonSets: new Map() }
    const { isDeleted, error, warning } = planPod(pod(traits), facts)
    const text = [isDeleted ? 'delete' : 'keep', error, warning].filter(Boolean).join(': ')
    assert.equal(text, verdict, `${traits} ${JSON.stringify(policy)}`)
  }
  check('ReplicaSet', {}, 'delete')
  check('', {}, 'keep: Pods that declare no controller (use --force to override)')
  check('', { force: true }, 'delete: deleting Pods that declare no controller')
  check('Succeeded', {}, 'delete')
  check('ReplicaSet emptyDir', {}, 'keep: Pods with local storage (use --delete-emptydir-data to override)')
  check('ReplicaSet emptyDir', { deleteEmptyDirData: true }, 'delete')
  check('ReplicaSet emptyDir Succeeded', {}, 'delete')
  check('DaemonSet', {}, 'keep: DaemonSet-managed Pods (use --ignore-daemonsets to ignore)')
  check('DaemonSet emptyDir', { ignoreDaemonSets: true }, 'keep: ignoring DaemonSet-managed Pods')
  check('DaemonSet Succeeded', {}, 'delete')
  check('mirror', {}, 'keep')
  check('mirror emptyDir', all, 'keep')
  check('ReplicaSet deleted', { skipDeletedSeconds: 30 }, 'keep')
  check('ReplicaSet deleted', { skipDeletedSeconds: 90 }, 'delete')
})

test('the pod of a daemon set that does not exist is deleted by force', () => {
  const missing = new Map([['shop/web', { message: 'not found', isNotFound: true }]])
  const failing = new Map([['shop/web', { message: 'no access', isNotFound: false }]])
  const plan = (daemonSets: typeof missing, force: boolean) =>
    planPod(pod('DaemonSet'), { policy: { ...strict, ...all, force }, daemonSets })
  assert.equal(daemonSetOf(pod('DaemonSet')), 'shop/web')
  assert.equal(plan(missing, true).isDeleted, true)
  assert.equal(plan(missing, false).error, 'not found')
  assert.equal(plan(failing, true).error, 'no access')
})

test('pods with the same reason are reported together', () => {
  const verdicts = ['', '', 'ReplicaSet emptyDir'].map(traits =>
    planPod(pod(traits), { policy: strict, daemonSets: new Map() }),
  )
  assert.deepEqual(drainErrors(verdicts), [
    'cannot delete Pods that declare no controller (use --force to override): shop/web-0, shop/web-0',
    'cannot delete Pods with local storage (use --delete-emptydir-data to override): shop/web-0',
  ])
  assert.equal(drainWarning(verdicts), '')
})
