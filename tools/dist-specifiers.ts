import { dirname, relative } from 'node:path/posix'
import { sourceFile } from './tidy/source-file.ts'

/** The path in the package of a file below src. */
export function distPath(path: string): string {
  return path.replace(/^src\//, 'dist/').replace(/(?<!\.d)\.ts$/, '.js')
}

/**
 * The text of a module for the package: imports become relative paths to JavaScript files, since `#/` refers
 * to the sources.
 */
export function distSpecifiers(path: string, text: string): string {
  const parts: string[] = []
  let end = 0
  for (const { specifier, target, position } of sourceFile(path, text).imports) {
    if (target === undefined || !target.startsWith('src/')) continue
    const to = relative(dirname(distPath(path)), distPath(target))
    parts.push(text.slice(end, position), to.startsWith('.') ? to : `./${to}`)
    end = position + specifier.length
  }
  return [...parts, text.slice(end)].join('')
}
