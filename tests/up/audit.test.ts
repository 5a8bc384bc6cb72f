/** The audit log of a real server: its contents, and that it contains no secrets. */
import assert from 'node:assert/strict'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../temporary-folder.ts'
import { startJsonService } from './json-service.ts'
import { post, stop, up } from './process.ts'

interface Event {
  readonly level: string
  readonly stage: string
  readonly verb: string
  readonly auditID: string
  readonly user: { readonly username: string }
  readonly objectRef?: { readonly resource: string; readonly name?: string }
  readonly requestObject?: unknown
  readonly responseStatus?: { readonly code: number }
  readonly annotations?: Readonly<Record<string, string>>
}

const policy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  nonResourceURLs: ["/readyz"]
- level: RequestResponse
`

const secret = 'correct-horse-battery-staple'

test('the audit log has user, request and authorization reason, and no secrets', async t => {
  const folder = await temporaryFolder(t)
  const log = join(folder, 'log', 'audit.log')
  await writeFile(join(folder, 'policy.yaml'), policy)
  await writeFile(join(folder, 'tokens'), `${secret},alice,1\n`)
  const cluster = await up(
    t,
    join(folder, 'data'),
    `--store memory --token-auth-file ${folder}/tokens`,
    `--audit-policy-file ${folder}/policy.yaml --audit-log-path ${log}`,
  )
  const object = { metadata: { name: 'hidden' }, stringData: { password: secret } }
  const created = await post(cluster, '/api/v1/namespaces/default/secrets', object)
  assert.equal(created.status, 201, created.text)
  const data = { metadata: { name: 'shown' }, spec: { accessModes: ['ReadWriteOnce'] } }
  await post(cluster, '/api/v1/namespaces/default/persistentvolumeclaims', data)
  const alice = { authorization: `Bearer ${secret}` }
  assert.equal((await cluster.askAs(alice, '/api/v1/pods')).status, 403)
  assert.equal((await cluster.askAs({ authorization: 'Bearer wrong' }, '/api/v1/pods')).status, 401)
  await cluster.ask('/readyz')
  // The audit event is written before the response, so the log is complete.
  const text = await readFile(log, 'utf8')
  await stop(cluster, 'SIGTERM')
  assert.equal((await stat(log)).mode & 0o777, 0o600)
  assert.equal(text.includes(secret), false)
  assert.equal(text.includes(Buffer.from(secret).toString('base64')), false)
  const events = text
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as Event)
  const find = (verb: string, resource: string, username: string): Event => {
    return events.find(
      each => each.verb === verb && each.objectRef?.resource === resource && each.user.username === username,
    )!
  }
  const hidden = find('create', 'secrets', 'kubernetes-admin')
  assert.deepEqual(
    [hidden.level, hidden.objectRef?.name, hidden.responseStatus?.code, hidden.requestObject],
    ['Metadata', 'hidden', 201, undefined],
  )
  assert.equal(hidden.auditID, created.headers['audit-id'])
  assert.equal(hidden.annotations?.['authorization.k8s.io/decision'], 'allow')
  const shown = find('create', 'persistentvolumeclaims', 'kubernetes-admin')
  assert.deepEqual((shown.requestObject as typeof data).metadata.name, 'shown')
  const refused = find('list', 'pods', 'alice')
  assert.deepEqual(
    [refused.responseStatus?.code, refused.annotations?.['authorization.k8s.io/decision']],
    [403, 'forbid'],
  )
  assert.equal(find('list', 'pods', '').responseStatus?.code, 401)
  assert.equal(text.includes('/readyz'), false)
})

test('audit events are sent to a webhook, and buffered ones at shutdown', async t => {
  const folder = await temporaryFolder(t)
  const received: Event[] = []
  const { kubeconfig } = await startJsonService(t, body => {
    received.push(...(body as { readonly items: readonly Event[] }).items)
    return {}
  })
  await writeFile(join(folder, 'policy.yaml'), policy)
  await writeFile(join(folder, 'hook.conf'), kubeconfig)
  const flags = `--audit-policy-file ${folder}/policy.yaml --audit-webhook-config-file ${folder}/hook.conf`
  const cluster = await up(t, join(folder, 'data'), '--store memory', flags)
  await cluster.ask('/api/v1/namespaces/kube-public')
  await stop(cluster, 'SIGTERM')
  assert.ok(received.some(({ verb, objectRef }) => verb === 'get' && objectRef?.name === 'kube-public'))
})
