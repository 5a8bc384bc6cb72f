import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { ChildCluster } from '../clients/cluster.ts'
import { performTranscript, stepsOf } from '../clients/kubectl/perform-transcript.ts'
import { Session } from '../clients/kubectl/session.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { kubectlMinor, whyNoKubectl } from './perform-scenarios.ts'

const transcripts = new URL('testdata/killed/', import.meta.url)

async function perform(session: Session, file: string): Promise<void> {
  const transcript = new URL(file, transcripts)
  await performTranscript(session, transcript, await stepsOf(transcript, kubectlMinor!))
}

test(
  'a cluster killed in the middle of work continues after its restart',
  { skip: whyNoKubectl },
  async t => {
    const folder = join(await temporaryFolder(t), 'data')
    const first = await ChildCluster.start({ folder, simulatedNodes: 3 })
    t.after(() => first.kill())
    const { port } = first
    await using session = await Session.start(first, 'killed')
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
  },
)
