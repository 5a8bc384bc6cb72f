import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { clusterForFile } from './cluster.ts'
import { performTranscript, stepsOf } from './kubectl/perform-transcript.ts'
import { kubectlVersion, Session } from './kubectl/session.ts'

const transcripts = new URL('kubectl/testdata/', import.meta.url)
const version = await kubectlVersion()
const skip = version === undefined && 'kubectl is not installed (Debian package kubernetes-client)'

describe('kubectl', { skip, concurrency: 3 }, async () => {
  const cluster = await clusterForFile()
  for (const file of await readdir(transcripts)) {
    const transcript = new URL(file, transcripts)
    const steps = await stepsOf(transcript, version!)
    test(
      `the output of kubectl is as in ${file}`,
      { skip: steps.length === 0 && 'kubectl is too old' },
      async () => {
        await using session = await Session.start(cluster, file.replace(/\.txt$/, ''))
        await performTranscript(session, transcript, steps)
      },
    )
  }

  test('kubectl get --watch shows changes as they happen', async () => {
    await using session = await Session.start(cluster, 'watch')
    await session.run('kubectl create configmap first && kubectl label configmap first shown=yes')
    await using watch = session.follow('kubectl get configmaps --watch --output-watch-events -l shown=yes')
    const next = async (): Promise<string> =>
      ((await watch.next()) ?? '').replaceAll(/ +/g, ' ').replace(/\d+s$/, '...')
    assert.deepEqual([await next(), await next()], ['EVENT NAME DATA AGE', 'ADDED first 0 ...'])
    await session.run(
      'kubectl create configmap seen --from-literal=a=b && kubectl label configmap seen shown=yes',
    )
    assert.equal(await next(), 'ADDED seen 1 ...')
    await session.run('kubectl annotate configmap seen note=1')
    assert.equal(await next(), 'MODIFIED seen 1 ...')
    await session.run('kubectl label configmap seen shown-')
    assert.equal(await next(), 'DELETED seen 1 ...')
    await session.run('kubectl label configmap seen shown=yes && kubectl delete configmap seen')
    assert.deepEqual([await next(), await next()], ['ADDED seen 1 ...', 'DELETED seen 1 ...'])
  })

  test('kubectl wait ends when its condition is met', async () => {
    await using session = await Session.start(cluster, 'wait')
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'waited-for' } }
    await session.run(`echo '${JSON.stringify(node)}' | kubectl create -f -`)
    await using condition = session.follow('kubectl wait node waited-for --for=condition=Ready --timeout=30s')
    const ready = { ...node, status: { conditions: [{ type: 'Ready', status: 'True' }] } }
    await session.run(
      `echo '${JSON.stringify(ready)}' | kubectl replace --raw /api/v1/nodes/waited-for/status -f -`,
    )
    assert.equal(await condition.next(), 'node/waited-for condition met')
    await using deletion = session.follow('kubectl wait node waited-for --for=delete --timeout=30s')
    await session.run('kubectl delete node waited-for')
    // No output when the node was already deleted.
    assert.match((await deletion.next()) ?? '', /^(?:node\/waited-for condition met)?$/)
  })
})
