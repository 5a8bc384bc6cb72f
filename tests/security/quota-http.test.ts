/** Fifty concurrent creations against a quota of ten, with Kubernetes' own client over the network. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiException, CoreV1Api, KubeConfig } from '@kubernetes/client-node'
import { clusterForFile } from '../clients/cluster.ts'

test('of fifty concurrent creations over HTTP a quota of ten admits ten', async () => {
  const cluster = await clusterForFile()
  const kubeconfig = new KubeConfig()
  kubeconfig.loadFromFile(cluster.kubeconfig)
  const core = kubeconfig.makeApiClient(CoreV1Api)
  const namespace = 'raced'
  await core.createNamespace({ body: { metadata: { name: namespace } } })
  const hard = { configmaps: '10' }
  await core.createNamespacedResourceQuota({ namespace, body: { metadata: { name: 'q' }, spec: { hard } } })
  const quota = await core.readNamespacedResourceQuota({ namespace, name: 'q' })
  if (quota.status?.used === undefined) {
    const { metadata, spec } = quota
    const body = { metadata: metadata!, spec: spec!, status: { hard, used: { configmaps: '0' } } }
    await core.replaceNamespacedResourceQuotaStatus({ namespace, name: 'q', body })
  }
  const outcomes = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => {
      try {
        await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: `c${index}` } } })
        return 201
      } catch (error) {
        if (!(error instanceof ApiException)) throw error
        assert.match(String(error.body), /exceeded quota: q, requested: configmaps=1, used: configmaps=10/)
        return error.code
      }
    }),
  )
  assert.equal(outcomes.filter(code => code === 201).length, 10)
  assert.equal(outcomes.filter(code => code === 403).length, 40)
  assert.equal((await core.listNamespacedConfigMap({ namespace })).items.length, 10)
  assert.deepEqual((await core.readNamespacedResourceQuota({ namespace, name: 'q' })).status?.used, {
    configmaps: '10',
  })
})
