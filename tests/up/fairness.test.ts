/**
 * A flood of one user does not delay another. Measured by the number of requests ahead in the queue, not by
 * time.
 */
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { connect, type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { temporaryFolder } from '../temporary-folder.ts'
import { startJsonService, type JsonService } from './json-service.ts'
import { up } from './process.ts'
import { waitUntil } from '../wait-until.ts'

const seats = 16

const floodRequests = 600

test('while one user floods the server, another user waits for few of its requests', async t => {
  const folder = await temporaryFolder(t)
  const gate = await openGate(t)
  await writeFile(join(folder, 'tokens'), 'f,flooder,1\nq,quiet,2\n')
  await writeFile(join(folder, 'gate.conf'), gate.kubeconfig)
  const cluster = await up(
    t,
    join(folder, 'data'),
    `--store memory --token-auth-file ${folder}/tokens`,
    `--max-requests-inflight ${seats - 4} --max-mutating-requests-inflight 4`,
    `--authorization-mode RBAC,Webhook --authorization-webhook-config-file ${folder}/gate.conf`,
  )
  const ca = await readFile(join(folder, 'data', 'pki', 'ca.crt'))
  const session = (): ClientHttp2Session => {
    const opened = connect(cluster.url, { ca })
    t.after(() => opened.destroy())
    return opened
  }
  const answers: number[] = []
  const floods = Array.from({ length: 6 }, session)
  for (let index = 0; index < floodRequests; index++) {
    // Each request is for another namespace, so that authorization results are not cached.
    const sent = send(floods[index % floods.length]!, 'f', `/api/v1/namespaces/n${index}/pods`)
    sent.then(({ status }) => answers.push(status)).catch(() => undefined)
  }
  // Some requests occupy all seats they can get, others are queued, and the rest are rejected.
  await waitUntil(() => answers.includes(429))
  const quiet = session()
  for (let index = 0; index < 5; index++) {
    const letThrough = gate.letThrough
    let answer: IncomingHttpHeaders | undefined
    void send(quiet, 'q', `/api/v1/namespaces/q${index}/pods`).then(({ headers }) => {
      answer = headers
    })
    await waitUntil(() => answer !== undefined || gate.release())
    assert.equal(answer?.[':status'], 200)
    assert.ok(
      gate.letThrough - letThrough <= 2 * seats,
      `it waited for ${gate.letThrough - letThrough} others`,
    )
    assert.match(String(answer?.['x-kubernetes-pf-flowschema-uid']), /^[0-9a-f-]{36}$/)
    assert.match(String(answer?.['x-kubernetes-pf-prioritylevel-uid']), /^[0-9a-f-]{36}$/)
  }
  assert.ok(answers.length < floodRequests, 'the flood was over before the others were served')
})

interface Gate extends JsonService {
  readonly letThrough: number
  /** Releases one held request; returns false, for use in a wait loop. */
  release(): false
}

/** An authorization webhook that allows everything, but delays responses for one user until released. */
async function openGate(t: TestContext): Promise<Gate> {
  const held: (() => void)[] = []
  let letThrough = 0
  const service = await startJsonService(t, async body => {
    const review = body as { readonly spec: { readonly user: string } }
    if (review.spec.user === 'flooder') await new Promise<void>(resolve => void held.push(resolve))
    return { ...review, status: { allowed: true } }
  })
  return {
    ...service,
    get letThrough() {
      return letThrough
    },
    release: () => {
      const answer = held.shift()
      if (answer) letThrough++
      answer?.()
      return false
    },
  }
}

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
}

function send(session: ClientHttp2Session, token: string, path: string): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const stream = session.request({ ':path': path, 'authorization': `Bearer ${token}` })
  stream.on('response', headers => {
    stream.resume().on('end', () => resolve({ status: Number(headers[':status']), headers }))
  })
  stream.on('error', reject)
  stream.end()
  return promise
}
