/**
 * Checks the tree itself: layers, private folders, sizes, names, dead files and what else docs/STYLE.md asks for and
 * neither compiler nor linter knows. Prints what is untidy, one line each, and exits with 1 when anything is.
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

/** Every file that is tracked or would be, with its content. */
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

/** A file may be tracked and yet deleted, or be deleted while we read. */
function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
