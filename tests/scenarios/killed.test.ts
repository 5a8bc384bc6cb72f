import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { ChildCluster } from '../clients/cluster.ts'
import { performTranscript, readTranscript } from '../clients/kubectl/perform-transcript.ts'
import { Session } from '../clients/kubectl/session.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { scenarioKubectls } from './perform-scenarios.ts'

const transcripts = new URL('testdata/killed/', import.meta.url)

for (const kubectl of scenarioKubectls) {
  test(`a cluster killed in the middle of work continues after its restart, as ${kubectl.name} shows`, async t => {
    const perform = async (session: Session, file: string): Promise<void> => {
      const { steps } = await readTranscript(new URL(file, transcripts), kubectl.version)
      await performTranscript(session, file, steps)
    }
    const folder = join(await temporaryFolder(t), 'data')
    const first = await ChildCluster.start({ folder, simulatedNodes: 3 })
    t.after(() => first.kill())
    const { port } = first
    await using session = await Session.start({
      cluster: first,
      namespace: 'killed',
      kubectl: kubectl.path,
    })
    await perform(session, 'before.txt')
    await using rollout = session.follow('kubectl rollout status deployment web')
    assert.match((await rollout.next()) ?? '', /^Waiting for deployment "web" rollout to finish/)
    await first.kill()
    assert.match(await session.run('kubectl get pods'), /was refused/)

    const second = await ChildCluster.start({ folder, port, simulatedNodes: 3 })
    t.after(() => second.kill())
    await perform(session, 'after.txt')
    await second.kill()

    await using third = await ChildCluster.start({ folder, port, simulatedNodes: 3 })
    await perform(session, 'after-again.txt')
    assert.equal(third.port, port)
  })
}
