import type { Finding } from './finding.ts'
import { functionsOf } from './functions.ts'
import type { SourceFile } from './source-file.ts'

const lineCharactersMax = 120
const fileLinesMax = 500
const testFileLinesMax = 800
const functionLinesMax = 70
/** A test may be one long table of cases. */
const testFunctionLinesMax = 100

export function checkSizes(files: readonly SourceFile[]): Finding[] {
  return files.flatMap(file => [...longFile(file), ...longLines(file), ...longFunctions(file)])
}

function longFile({ path, content, isTest }: SourceFile): Finding[] {
  const lines = content.split('\n').length - 1
  const max = isTest ? testFileLinesMax : fileLinesMax
  return lines > max ? [{ path, line: 1, text: `${lines} lines: past ${max} a file is two files` }] : []
}

function longLines({ path, lines }: SourceFile): Finding[] {
  return lines.flatMap((text, index) =>
    text.length > lineCharactersMax
      ? [
          {
            path,
            line: index + 1,
            text: `${text.length} characters: a line has at most ${lineCharactersMax}`,
          },
        ]
      : [],
  )
}

function longFunctions(file: SourceFile): Finding[] {
  if (file.lines.length <= functionLinesMax) return []
  return functionsOf(file).flatMap(({ start, end, head }) => {
    const lines = end - start + 1
    const isSuite = file.isTest && (head.startsWith('describe(') || file.path.endsWith('.conformance.ts'))
    const max = file.isTest ? testFunctionLinesMax : functionLinesMax
    if (lines <= max || isSuite) return []
    const text = `${lines} lines: past ${max} a function is two functions`
    return [{ path: file.path, line: start, text }]
  })
}

/** Files at the top level of a component or of src must have a header. */
export function checkHeaders(files: readonly SourceFile[]): Finding[] {
  return files
    .filter(({ path, isTest }) => /^src\/([^/]+\/)?[^/]+$/.test(path) && !isTest)
    .filter(({ content }) => !content.startsWith('/**'))
    .map(({ path }) => ({ path, line: 1, text: 'a front door begins with a comment: what it is and why' }))
}

export function checkAssertions(files: readonly SourceFile[]): Finding[] {
  const byPath = new Map(files.map(file => [file.path, file]))
  return files
    .filter(({ path }) => path.endsWith('.test.ts'))
    .filter(file => !asserts(file) && !checksElsewhere(file, byPath))
    .map(({ path }) => ({ path, line: 1, text: 'asserts nothing: a test that cannot fail' }))
}

/** True if an imported test helper or testdata file contains assertions. */
function checksElsewhere(file: SourceFile, byPath: ReadonlyMap<string, SourceFile>): boolean {
  return file.imports.some(({ target = '' }) => {
    const imported = /^tests\/|\/testdata\/|\/test-[a-z-]+\.ts$/.test(target) ? byPath.get(target) : undefined
    return imported !== undefined && (asserts(imported) || checksElsewhere(imported, byPath))
  })
}

/** True if the file calls an assertion or a shared conformance suite. */
function asserts({ code, content, imports }: SourceFile): boolean {
  const name = /\bimport (\w+)[^'"]* from ['"]node:assert/.exec(content)?.[1] ?? 'assert'
  const sharesSuite = imports.some(({ specifier }) => specifier.endsWith('.conformance.ts'))
  return sharesSuite || new RegExp(`\\b${name}[.(]`).test(code)
}
