import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PluginSetFields } from './fields.ts'
import { pluginSets, type ExtensionPointName } from './plugin-sets.ts'

/** Names with an F are filter plugins, with an S score plugins. */
const plugins = ['FilterA', 'FS-B:3', 'ScoreC:2', 'FS-D']
const defaults = plugins.map(text => {
  const [name = '', weight = '1'] = text.split(':')
  return { name, weight: Number(weight) }
})

/** `+A:5 -B -*`: A is enabled with a weight, B and then all plugins are disabled. */
function setOf(text: string): PluginSetFields {
  const words = text.split(' ').filter(word => word !== '')
  const of = (sign: string): readonly { readonly name: string; readonly weight?: number }[] => {
    return words
      .filter(word => word.startsWith(sign))
      .map(word => {
        const [name = '', weight] = word.slice(1).split(':')
        return { name, ...(weight && { weight: Number(weight) }) }
      })
  }
  return { enabled: of('+'), disabled: of('-') }
}

function planOf(said: Readonly<Record<string, string>>): Readonly<Record<'filter' | 'score', string>> {
  const fields = Object.fromEntries(Object.entries(said).map(([point, text]) => [point, setOf(text)]))
  const sets = pluginSets(defaults, fields)
  const weights = new Map(sets.all.map(({ name, weight }) => [name, weight]))
  const at = (point: ExtensionPointName, letter: string): readonly string[] =>
    sets.at(point, name => name.split('-')[0]!.includes(letter))
  return {
    filter: at('filter', 'F').join(' '),
    score: at('score', 'S')
      .map(name => `${name}:${weights.get(name)}`)
      .join(' '),
  }
}

const usual = { filter: 'FilterA FS-B FS-D', score: 'FS-B:3 ScoreC:2 FS-D:1' }

const cases: readonly [Readonly<Record<string, string>>, Partial<typeof usual>][] = [
  [{}, {}],
  [{ multiPoint: '-FS-B' }, { filter: 'FilterA FS-D', score: 'ScoreC:2 FS-D:1' }],
  [{ multiPoint: '-*' }, { filter: '', score: '' }],
  [{ multiPoint: '-* +FS-D:7' }, { filter: 'FS-D', score: 'FS-D:7' }],
  // A default plugin that is enabled again keeps its position; a new plugin is appended.
  [{ multiPoint: '+FS-D:7 +FS-B' }, { score: 'FS-B:1 ScoreC:2 FS-D:7' }],
  [
    { multiPoint: '+FS-New:4' },
    { filter: 'FilterA FS-B FS-D FS-New', score: 'FS-B:3 ScoreC:2 FS-D:1 FS-New:4' },
  ],
  // Enabling overrides disabling, and appends a plugin that was disabled.
  [{ multiPoint: '-FS-B +FS-B:9' }, { filter: 'FilterA FS-D FS-B', score: 'ScoreC:2 FS-D:1 FS-B:9' }],
  [{ filter: '-FS-B' }, { filter: 'FilterA FS-D' }],
  [{ score: '-*' }, { score: '' }],
  [{ score: '-* +FS-D:5' }, { score: 'FS-D:5' }],
  // Plugins of a specific extension point come first and override multiPoint, and may be additional ones.
  [{ score: '+FS-D:5 +FS-B:6' }, { score: 'FS-D:5 FS-B:6 ScoreC:2' }],
  [{ score: '+FS-B' }, { score: 'FS-B:1 ScoreC:2 FS-D:1' }],
  [{ score: '+FS-New:2' }, { score: 'FS-B:3 ScoreC:2 FS-D:1 FS-New:2' }],
  // preFilter implies filter.
  [{ preFilter: '+FS-New' }, { filter: 'FilterA FS-B FS-D FS-New' }],
  [{ preFilter: '+FS-New', filter: '-FS-New' }, {}],
  [{ preFilter: '-FilterA' }, {}],
]

for (const [said, want] of cases) {
  test(`plugins with ${JSON.stringify(said)}`, () => assert.deepEqual(planOf(said), { ...usual, ...want }))
}
