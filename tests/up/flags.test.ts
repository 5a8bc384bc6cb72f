/**
 * Invalid flags, or invalid files named by flags: one clear error line, exit code 2, and nothing is started.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../temporary-folder.ts'
import { run, stop, up } from './process.ts'

test('an invalid flag is rejected in one line with code 2 before the start', async t => {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'tokens'), 'secret,alice\n')
  const data = join(folder, 'data')
  const check = (line: string, complaint: RegExp | string): void => {
    const words = line.split(' ').map(word => word.replace('@', `${folder}/`))
    const { status, stdout, stderr } = run('--no-node', '--port', '0', '--data-dir', data, ...words)
    assert.deepEqual([status, stdout], [2, ''], `${line}: ${stderr}`)
    const [first, ...rest] = stderr.split('\n')
    assert.deepEqual(rest, ['See k8ts up --help', ''], stderr)
    if (typeof complaint === 'string') assert.equal(first, `k8ts up: ${complaint.replace('@', `${folder}/`)}`)
    else assert.match(first!, complaint)
    assert.equal(existsSync(data), false, line)
  }
  check('--authorization-mode RBAC,Magic', /authorization-mode "Magic" is not a valid mode: use /)
  check('--authorization-config @missing', '--authorization-config @missing: no such file')
  check('--token-auth-file @tokens', /--token-auth-file .*: record 1 must have at least 3 columns/)
  const policy = 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: Metadata }]\n'
  await writeFile(join(folder, 'policy'), policy)
  for (const path of ['/proc/none/audit.log', '@tokens/audit.log', folder]) {
    check(
      `--audit-policy-file @policy --audit-log-path ${path}`,
      /^k8ts up: --audit-log-path .*: cannot be written: E/,
    )
  }
  check('--anonymous-auth=maybe', '--anonymous-auth maybe: must be true or false')
})

test('the client CA as front-proxy CA requires allowed names', async t => {
  const folder = await temporaryFolder(t)
  const cluster = await up(t, folder, '--store memory')
  await stop(cluster, 'SIGTERM')
  const flags = ['--requestheader-client-ca-file', join(folder, 'pki', 'ca.crt')]
  const { status, stderr } = run('--no-node', '--port', '0', '--data-dir', folder, ...flags)
  assert.equal(status, 2)
  assert.match(stderr, /^k8ts up: --requestheader-client-ca-file .*--requestheader-allowed-names is required/)
})
