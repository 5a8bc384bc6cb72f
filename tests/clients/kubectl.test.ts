import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { ChildCluster, clusterForFile } from './cluster.ts'
import { performTranscript, readTranscript } from './kubectl/perform-transcript.ts'
import { Session, testedKubectls, type TestedKubectl } from './kubectl/session.ts'

const transcripts = new URL('kubectl/testdata/', import.meta.url)
const files = await readdir(transcripts)

for (const kubectl of await testedKubectls()) {
  describe(kubectl.name, { concurrency: 3 }, async () => {
    const alone = await clusterForFile()
    const simulated = await clusterForFile({ simulatedNodes: 3 })
    for (const file of files) {
      const { steps, settings } = await readTranscript(new URL(file, transcripts), kubectl.version)
      test(
        `${kubectl.name} prints the output in ${file}`,
        { skip: steps.length === 0 && 'kubectl is too old' },
        async () => {
          await using own = settings.hasOwnCluster
            ? await ChildCluster.start(settings.hasSimulatedNodes ? { simulatedNodes: 3 } : {})
            : undefined
          const cluster = own ?? (settings.hasSimulatedNodes ? simulated : alone)
          await using session = await Session.start({
            cluster,
            namespace: file.replace(/\.txt$/, ''),
            kubectl: kubectl.path,
          })
          await performTranscript(session, file, steps)
        },
      )
    }

    watchTests(alone, kubectl)
  })
}

function watchTests(cluster: ChildCluster, kubectl: TestedKubectl): void {
  const startSession = (namespace: string): Promise<Session> =>
    Session.start({ cluster, namespace, kubectl: kubectl.path })

  test(`${kubectl.name} get --watch shows changes as they happen`, async () => {
    await using session = await startSession('watch')
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

  test(`${kubectl.name} wait ends when its condition is met`, async () => {
    await using session = await startSession('wait')
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
}
