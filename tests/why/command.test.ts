import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Cluster } from '#/testing/testing.ts'
import { deploymentOf } from './why-cluster.ts'

const script = fileURLToPath(new URL('../../k8ts', import.meta.url))
const run = promisify(execFile)

test('k8ts why prints a diagnosis as text and as JSON, and fails for an object that does not exist', async () => {
  await using cluster = await Cluster.start({ nodes: 1, clock: 'real' })
  const kubeconfig = await cluster.kubeconfig()
  await cluster.apply([deploymentOf({ resources: { requests: { cpu: '640' } } })])
  await cluster.settle()
  const why = async (...words: readonly string[]): Promise<string> => {
    return (await run(script, ['why', ...words, '--kubeconfig', kubeconfig])).stdout
  }
  const [text, json] = await Promise.all([why('deployment', 'web'), why('deploy/web', '-o', 'json')])
  assert.match(text, /^Deployment default\/web has 0 of 1 replica ready: .*\n\nEvidence:\n/)
  const { object, code } = JSON.parse(json) as { readonly object: unknown; readonly code: unknown }
  assert.deepEqual(object, { kind: 'Deployment', namespace: 'default', name: 'web' })
  assert.equal(code, 'NotScheduled')
  await assert.rejects(why('pod', 'gone', '-n', 'shop'), {
    code: 1,
    stdout: 'Pod shop/gone does not exist.\n',
  })
  await assert.rejects(why('pod'), /usage: k8ts why KIND NAME/)
  await assert.rejects(why('shop', 'web'), /the server has no resource of the kind "shop"/)
})
