/**
 * All rules of the tree. A tree is a map from paths to contents, so that each rule is tested with a small
 * tree that violates it. Rules that the compiler or the linter can check are left to them.
 */
import type { Finding } from './finding.ts'
import { checkBarrels, checkDeadFiles, checkImports } from './imports.ts'
import { checkLayers } from './layers.ts'
import { publicHosts, type Machine } from './machine.ts'
import { checkFileNames, checkWords } from './names.ts'
import { checkParameters } from './parameters.ts'
import { checkProse } from './prose.ts'
import { checkAssertions, checkHeaders, checkSizes } from './shape.ts'
import { lineAt, sourceFile, type SourceFile } from './source-file.ts'
import { checkFolders, checkTinyFiles } from './structure.ts'

const rules: readonly ((files: readonly SourceFile[]) => Finding[])[] = [
  checkLayers,
  checkImports,
  checkDeadFiles,
  checkBarrels,
  checkSizes,
  checkParameters,
  checkFolders,
  checkTinyFiles,
  checkHeaders,
  checkAssertions,
  checkFileNames,
  checkWords,
  checkProse,
  checkTime,
]

export function checkTree(contents: ReadonlyMap<string, string>, machine: Machine): Finding[] {
  const files = [...contents]
    .filter(([path]) => /\.tsx?$/.test(path) && !path.startsWith('src/api/generated/'))
    .map(([path, content]) => sourceFile(path, content))
  const findings = [...rules.flatMap(rule => rule(files)), ...checkTraces(contents, machine)]
  return findings.sort((left, right) => left.path.localeCompare(right.path) || left.line - right.line)
}

/** The linter detects `Date.now`, but not a `Date` without arguments. */
function checkTime(files: readonly SourceFile[]): Finding[] {
  return files
    .filter(({ path }) => path.startsWith('src/') && !/^src\/(platform\/node|console-page)\//.test(path))
    .flatMap(({ path, code, content }) =>
      [...code.matchAll(presentDate)].map(({ index }) => {
        return { path, line: lineAt(content, index), text: 'reads the clock: time comes from platform.clock' }
      }),
    )
}

/** Matches `new Date()`, `new Date`, and `Date()`, which ignores its arguments. */
const presentDate = /\bnew Date\b(?!\s*\(\s*[^)\s])|(?<!new\s+|\.|\w)Date\(/g

/** Finds local paths and registries of the developer's machine. */
function checkTraces(contents: ReadonlyMap<string, string>, machine: Machine): Finding[] {
  const findings: Finding[] = []
  const folders = machine.folders.map(folder => `(?<![\\w.*/~#@-])${RegExp.escape(folder)}`)
  const hosts = machine.hosts.map(host => `(?<![\\w.-])${RegExp.escape(host)}`)
  const trace = new RegExp([...folders, ...hosts, '(?!)'].join('|'), 'g')
  for (const [path, content] of contents) {
    for (const { 0: text, index } of content.matchAll(trace)) {
      findings.push({ path, line: lineAt(content, index), text: `${text} is of this machine` })
    }
    if (!/(^|\/)(package-lock\.json|\.npmrc)$/.test(path)) continue
    for (const { 1: host = '', index } of content.matchAll(registryUrl)) {
      if (publicHosts.has(host)) continue
      findings.push({ path, line: lineAt(content, index), text: `${host} is no public registry` })
    }
  }
  return findings
}

/** The registry of a package: in the lock file, and in the npm configuration. */
const registryUrl = /(?:"resolved": "|registry\s*=\s*)https?:\/\/([^/"\s]+)/g
