/** `k8ts history`, `get --at`, `diff`, `undo` and `trace` as a user who may read ConfigMaps of one namespace. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from './temporary-folder.ts'
import { script, up } from './up/process.ts'

interface Result {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

type K8ts = (line: string) => Promise<Result>

/** Runs command lines, split at spaces, with a kubeconfig in the folder. */
function runner(folder: string, kubeconfig: string): K8ts {
  const env = { ...process.env, KUBECONFIG: join(folder, kubeconfig), HOME: folder }
  return async line => {
    try {
      return { code: 0, ...(await promisify(execFile)(script, line.split(' '), { env })) }
    } catch (error) {
      return error as Result
    }
  }
}

interface Users {
  readonly admin: (line: string) => Promise<string>
  readonly ann: K8ts
}

async function start(t: TestContext): Promise<Users> {
  const folder = join(await temporaryFolder(t), 'data')
  await up(t, folder, '--store', 'memory')
  const run = runner(folder, 'admin.conf')
  const admin = async (line: string): Promise<string> => {
    const { code, stdout, stderr } = await run(line)
    assert.equal(code, 0, `${line}: ${stderr}`)
    return stdout
  }
  const kubeconfig = await admin(`kubeconfig user --client-name ann --data-dir ${folder}`)
  await writeFile(join(folder, 'ann.conf'), kubeconfig)
  return { admin, ann: runner(folder, 'ann.conf') }
}

test('a user sees of the history what the user may get, and is refused the rest as by kubectl get', async t => {
  const { admin, ann } = await start(t)
  for (const line of [
    'create ns team',
    'create ns other',
    'create role reader -n team --verb=get,list --resource=configmaps',
    'create rolebinding reader -n team --role=reader --user=ann',
    'create cm shared -n team --from-literal=color=red',
  ])
    await admin(`kubectl ${line}`)
  const { items } = JSON.parse(await admin('history cm shared -n team -o json')) as {
    readonly items: readonly { readonly revision: number }[]
  }
  const first = items[0]!.revision
  for (const line of [
    'patch cm shared -n team -p {"data":{"color":"blue"}}',
    'create cm hidden -n other --from-literal=color=hidden',
    'create secret generic password -n team --from-literal=color=hidden',
    'delete cm hidden -n other',
  ])
    await admin(`kubectl ${line}`)

  const allowed: readonly (readonly [line: string, stdout: RegExp])[] = [
    ['history cm shared -n team', / patch +data\.color: "red" -> "blue"\n.* create +created\n$/],
    [`get cm shared -n team --at ${first} -o jsonpath={.data.color}`, /^red$/],
    [`get cm -n team --at ${first} -o name`, /^configmap\/shared\n$/],
    [`diff --from ${first} -n team`, /^~ ConfigMap team\/shared .*\n.*data\.color.*\n\n1 changed from /],
    [`diff --from ${first} -A`, /^~ ConfigMap team\/shared .*\n.*data\.color.*\n\n1 changed from /],
    ['trace cm shared -n team', /^ConfigMap team\/shared, from .*\nbegan with kubernetes-admin /],
  ]
  const inOther = forbidden('configmaps', 'other')
  const secret = forbidden('secrets', 'team')
  const refused: readonly (readonly [line: string, stderr: RegExp])[] = [
    // That an object has existed is not shown either.
    ...['hidden', 'none'].flatMap(name => [
      [`history cm ${name} -n other`, inOther] as const,
      [`get cm ${name} -n other --at ${first}`, inOther] as const,
      [`diff --from ${first} cm ${name} -n other`, inOther] as const,
      [`undo cm ${name} -n other --to ${first} -y`, inOther] as const,
      [`trace cm ${name} -n other`, inOther] as const,
    ]),
    [`get cm -n other --at ${first}`, inOther],
    [`diff --from ${first} cm -n other`, inOther],
    ['history secret password -n team', secret],
    [
      `undo cm shared -n team --to ${first} -y`,
      /^k8ts: configmaps "shared" .* cannot patch resource "configmaps" /,
    ],
    [`diff --from ${first} secrets -n team`, secret],
    ['trace secret password -n team', secret],
  ]
  for (const [line, expected] of allowed) {
    const { stdout, stderr } = await ann(line)
    assert.match(stdout, expected, `${line}: ${stderr}`)
    assert.ok(!/hidden|other|password|Namespace/.test(stdout), stdout)
  }
  for (const [line, expected] of refused) {
    const { code, stdout, stderr } = await ann(line)
    assert.match(stderr, expected, line)
    assert.deepEqual([code, stdout], [1, ''], line)
  }
  const partial = await ann(`diff --from ${first} -n other`)
  assert.match(partial.stdout, /^no differences from /)
  assert.equal(partial.stderr, 'only objects that you may get are compared\n')
  assert.doesNotMatch((await ann(`diff --from ${first} cm -n team`)).stderr, /only/)
})

function forbidden(resource: string, namespace: string): RegExp {
  return new RegExp(
    `^(?:k8ts|Error from server \\(Forbidden\\)): ${resource}(?: "(?:hidden|none|password)")? is forbidden: ` +
      `User "ann" cannot (?:get|list) resource "${resource}" in API group "" in the namespace "${namespace}"\n$`,
  )
}
