import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, realpath, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { readCases, type KustomizeCase } from '#/kustomize/test-cases.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { kubectlVersion, upstreamKubectl } from './kubectl/session.ts'

/** The version with which the cases were recorded. */
const recordedVersion = 36

const version = await kubectlVersion()
const reason = `the cases were recorded with kubectl 1.${recordedVersion}`

test(
  'kubectl builds kustomizations as recorded',
  { skip: version !== recordedVersion && reason },
  async t => {
    const root = await realpath(await temporaryFolder(t))
    for (const each of await readCases()) {
      const folder = join(root, each.name)
      await writeCase(folder, each)
      const { stdout, stderr } = await kustomize(join(folder, each.build), each.isUnrestricted)
      assert.equal(stdout.replaceAll(folder, '/ROOT'), each.output, each.name)
      assert.equal(errorOf(stderr.replaceAll(folder, '/ROOT')), each.error, each.name)
    }
  },
)

async function writeCase(folder: string, { files }: KustomizeCase): Promise<void> {
  for (const [path, content] of files) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    const text = Buffer.from(content).toString()
    if (text.startsWith('link:')) await symlink(text.slice(5).trim(), join(folder, path))
    else await writeFile(join(folder, path), content)
  }
}

function kustomize(folder: string, isUnrestricted: boolean): Promise<{ stdout: string; stderr: string }> {
  const restrictor = isUnrestricted ? ['--load-restrictor', 'LoadRestrictionsNone'] : []
  return new Promise(resolve => {
    execFile(upstreamKubectl, ['kustomize', folder, ...restrictor], (_error, stdout, stderr) =>
      resolve({ stdout, stderr }),
    )
  })
}

/** The message without warnings, and without addresses in memory. */
function errorOf(stderr: string): string {
  const at = stderr.search(/^error: /m)
  if (at === -1) return ''
  const message = stderr.slice(at + 'error: '.length)
  return message.replaceAll(/&\{0x\w+ <nil>\}/g, 'ConfigMapGenerator').trimEnd()
}
