/** `k8ts history`, `get --at`, `diff` and `undo` as a user runs them, against an API server in a process of its own. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from './temporary-folder.ts'
import { script, up } from './up/process.ts'

const execute = promisify(execFile)

type K8ts = (line: string) => Promise<string>

/** Runs a command line, split at spaces, and returns its output. */
async function start(t: TestContext, ...flags: readonly string[]): Promise<K8ts> {
  const folder = join(await temporaryFolder(t), 'data')
  await up(t, folder, '--store', 'memory', ...flags)
  const env = { ...process.env, KUBECONFIG: join(folder, 'admin.conf'), HOME: folder }
  return async line => (await execute(script, line.split(' '), { env })).stdout
}

/** The revision of the newest version. */
async function revisionOf(k8ts: K8ts, object: string): Promise<number> {
  const history = JSON.parse(await k8ts(`history ${object} --limit 1 -o json`)) as {
    readonly items: readonly { readonly revision: number }[]
  }
  return history.items[0]!.revision
}

test('a deployment is listed, shown, compared and restored as it was', async t => {
  const k8ts = await start(t)
  await k8ts('kubectl create deployment web --image=web:1')
  const first = await revisionOf(k8ts, 'deployment web')
  await k8ts('kubectl set image deployment/web web=web:2')
  await k8ts('kubectl set env deployment/web A=1')
  await k8ts('kubectl label deployment web tier=front')
  const last = await revisionOf(k8ts, 'deploy/web')

  const table = (await k8ts('history deployment web')).split('\n').map(line => line.split(/ {3,}/))
  const admin = 'kubernetes-admin (kubectl)'
  assert.deepEqual(
    table.slice(0, -1).map(([, , ...cells]) => cells),
    [
      ['WHO', 'VERB', 'CHANGES'],
      [admin, 'patch', '+labels.tier: "front"'],
      [admin, 'patch', '+containers[name=web].env: [{"name":"A","value":"1"}]'],
      [admin, 'patch', 'containers[name=web].image: "web:1" -> "web:2"'],
      [admin, 'create', 'created'],
    ],
  )
  assert.match(
    await k8ts('history deployment web --diff --limit 3'),
    /^ {2}\+ metadata\.labels\.tier: "front"\n[^]*^ {2}~ .*\.image: "web:1" -> "web:2"\n$/m,
  )

  const image = '{.spec.template.spec.containers[0].image}'
  assert.equal(await k8ts(`get deployment web --at ${first} -o jsonpath=${image}`), 'web:1')
  assert.equal(
    await k8ts(`get deployments --at ${last} -o jsonpath=${image.replace('.', '.items[0].')}`),
    'web:2',
  )
  assert.match(await k8ts('get deployments --at 0s'), /^NAME +READY .*\nweb +0\/1 /)

  const changes =
    '    + metadata.labels.tier: "front"\n' +
    '    ~ spec.template.spec.containers[name=web].image: "web:1" -> "web:2"\n' +
    '    + spec.template.spec.containers[name=web].env: [{"name":"A","value":"1"}]\n'
  assert.equal(
    await k8ts(`diff --from ${first} --to ${last} --spec`),
    `~ Deployment default/web (${admin})\n${changes}\n1 changed from revision ${first} to revision ${last}\n`,
  )

  const dryRun = await k8ts(`undo deployment web --to ${first} --dry-run`)
  assert.match(dryRun, /^Deployment default\/web:\n {2}- metadata\.labels\.tier: "front"\n/)
  assert.equal(await revisionOf(k8ts, 'deployment web'), last, 'a dry run changes nothing')
  await k8ts(`undo deployment web --to ${first} -y`)
  const undone = await revisionOf(k8ts, 'deployment web')
  assert.equal(
    await k8ts(`diff --from ${first} --to ${undone} deployment web --spec`),
    `no differences from revision ${first} to revision ${undone}\n`,
  )
  const restored = await k8ts('history deployment web --spec --limit 1')
  assert.match(restored, /\n\d+ +\S+ +kubernetes-admin \(k8ts-undo\) +apply +-labels\.tier: .* and 1 more\n$/)
  assert.match(await k8ts(`undo deployment web --to ${first} -y`), /is as it was: nothing to undo\n$/)
})

test('a deleted object is found, compared and created again', async t => {
  const k8ts = await start(t)
  await k8ts('kubectl create configmap settings --from-literal=color=\u001b[31mred')
  const first = await revisionOf(k8ts, 'cm settings')
  await k8ts('kubectl delete configmap settings')
  const deletion = await revisionOf(k8ts, 'cm settings')
  assert.match(await k8ts('history cm settings'), /\n\d+ .* delete +DELETED\n\d+ .* create +created\n$/)
  assert.match(
    await k8ts(`diff --from ${first} cm`),
    /^- ConfigMap default\/settings: removed \(.*\)\n\n1 removed /,
  )
  assert.equal(await k8ts(`get cm settings --at ${first} -o name`), 'configmap/settings\n')
  await assert.rejects(
    k8ts(`undo cm settings --to ${deletion} -y`),
    /did not exist at revision \d+: see k8ts history/,
  )
  assert.match(await k8ts(`undo cm settings --to ${first} -y`), /settings created again\n$/)
  assert.match(await k8ts('history cm settings --limit 1'), /created again, with another uid\n$/)
  assert.equal(await k8ts('kubectl get cm settings -o jsonpath={.data.color}'), '\u001b[31mred')
  await k8ts('kubectl patch cm settings -p {"data":{"color":"blue"}}')
  const shown = `${await k8ts('history cm settings --diff')}${await k8ts('history cm settings -o json')}`
  assert.match(shown, /"\\u001b\[31mred" -> "blue"/)
  assert.ok(!shown.includes('\u001b'))
})

test('wrong command lines are usage errors, and a server without history says so', async t => {
  const k8ts = await start(t, '--history-max-age', '0')
  const cases: readonly (readonly [line: string, code: number, message: RegExp])[] = [
    ['history deployment', 2, /usage: k8ts history KIND NAME/],
    ['history shops web', 2, /the server has no resource of the kind "shops"/],
    ['diff deployments', 2, /--from is required/],
    ['diff --from 9 --to 8', 2, /--to must not be before --from/],
    ['diff --from yesterday', 2, /--from yesterday: must be a revision, /],
    ['undo deployment web', 2, /--to is required/],
    ['undo deployment web --to 5', 2, /there is no terminal to ask for confirmation: add -y/],
    ['get pods --at 5 --watch', 1, /--at cannot be combined with --watch/],
    ['history cm x', 1, /no history is kept/],
    ['get pods --at 5m', 1, /no history is kept/],
    ['diff --from 5m', 1, /no history is kept/],
    ['undo cm x --to 5 -y', 1, /no history is kept/],
  ]
  for (const [line, code, stderr] of cases) {
    await assert.rejects(k8ts(line), (error: { readonly code?: unknown; readonly stderr?: unknown }) => {
      assert.match(String(error.stderr), stderr, line)
      assert.equal(error.code, code, line)
      return true
    })
  }
})
