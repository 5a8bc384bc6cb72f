import { dirname, join } from 'node:path/posix'
import { blankOut } from './blank-out.ts'

export interface SourceFile {
  readonly path: string
  readonly content: string
  /** The content without comments and string contents, at the same positions. */
  readonly code: string
  readonly lines: readonly string[]
  readonly imports: readonly Import[]
  readonly isTest: boolean
}

export interface Import {
  /** As written: `./heap.ts`, `#/base/heap.ts`, `node:util`. */
  readonly specifier: string
  /** The path of the file in the tree; absent for packages. */
  readonly target: string | undefined
  readonly typeOnly: boolean
  readonly line: number
  /** The position of the specifier, after its quotation mark. */
  readonly position: number
}

export function sourceFile(path: string, content: string): SourceFile {
  const code = blankOut(content)
  return {
    path,
    content,
    code,
    lines: content.split('\n'),
    imports: importsOf(path, content, code),
    isTest: /(\.(test|conformance)|\/test-[a-z-]+|\/testdata\/.+)\.tsx?$/.test(path),
  }
}

/** The line of a position, counted from 1. */
export function lineAt(content: string, position: number): number {
  let line = 1
  for (let at = content.indexOf('\n'); at !== -1 && at < position; at = content.indexOf('\n', at + 1))
    line += 1
  return line
}

/**
 * Everything that references another file: import, export from, import(), and `new URL` for a worker or
 * program.
 */
const beginsSpecifier =
  /\bfrom\s*(?=['"])|\bimport\s*\(\s*(?=['"])|^import\s*(?=['"])|\bnew URL\(\s*(?=['"])/gm

function importsOf(path: string, content: string, code: string): Import[] {
  const imports: Import[] = []
  for (const match of code.matchAll(beginsSpecifier)) {
    const quote = match.index + match[0].length
    const specifier = content.slice(quote + 1, content.indexOf(content.charAt(quote), quote + 1))
    const isUrl = match[0].startsWith('new')
    if (isUrl && !/^[^:]+\.ts$/.test(specifier)) continue
    const target = isUrl ? join(dirname(path), specifier) : resolve(path, specifier)
    imports.push({
      specifier,
      target,
      typeOnly: isTypeOnly(code, match.index),
      line: lineAt(content, quote),
      position: quote + 1,
    })
  }
  return imports
}

function resolve(path: string, specifier: string): string | undefined {
  if (specifier.startsWith('#/')) return join('src', specifier.slice(2))
  return specifier.startsWith('.') ? join(dirname(path), specifier) : undefined
}

function isTypeOnly(code: string, from: number): boolean {
  const start = Math.max(code.lastIndexOf('import', from), code.lastIndexOf('export', from))
  return /^(import|export)\s+type\b/.test(code.slice(start, from))
}
