/**
 * Checks the tree itself: layers, private folders, sizes, names, dead files and other rules of docs/STYLE.md
 * that neither compiler nor linter checks. Prints one line per finding, and exits with 1 when there are any.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { checkTree } from './tidy/check-tree.ts'
import { machineOf } from './tidy/machine.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const machine = machineOf({ root, home: homedir(), registry: process.env['npm_config_registry'] })
const findings = checkTree(readTree(root), machine)
for (const { path, line, text } of findings) console.log(`${path}:${line}: ${text}`)
process.exitCode = findings.length === 0 ? 0 : 1

/** Every file that is tracked or not ignored, with its content. */
function readTree(folder: string): Map<string, string> {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  })
  const contents = new Map<string, string>()
  for (const path of new Set(listed.split('\0').filter(each => each !== ''))) {
    const content = readIfThere(`${folder}/${path}`)
    if (content !== undefined && !content.includes('\0')) contents.set(path, content)
  }
  return contents
}

/** A tracked file may be deleted, even while the tree is read. */
function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
