import { resourceId, type ApiResource } from '../data/api-resource.ts'
import type { View } from '../views.ts'
import { pluralOf } from './navigation.ts'

export interface Suggestion {
  /** The command to run. */
  readonly word: string
  readonly title: string
  /** Short names and the group. */
  readonly detail: string
}

export interface CommandTargets {
  readonly views: readonly Pick<View, 'path' | 'title' | 'words'>[]
  readonly resources: readonly ApiResource[]
}

const suggestionsMax = 8

/** Views and resources whose names begin with what is typed, then those that contain it. */
export function suggestCommands(line: string, { views, resources }: CommandTargets): Suggestion[] {
  const typed = line.trim().toLowerCase()
  if (typed.includes(' ') || typed.includes('/')) return []
  const candidates = [
    ...views.map(({ path, title, words }) => ({
      names: [path, ...words, title.toLowerCase()],
      suggestion: { word: path, title, detail: words.join(', ') },
    })),
    ...resources
      .filter(({ verbs }) => verbs.includes('list'))
      .map(resource => ({
        names: [resource.resource, resource.singular, ...resource.shortNames],
        suggestion: {
          word: resourceId(resource),
          title: pluralOf(resource),
          detail: [...resource.shortNames, resource.group].filter(Boolean).join(', '),
        },
      })),
  ]
  const ranked = candidates
    .map(({ names, suggestion }) => ({
      rank: Math.min(...names.map(name => rankOf(name, typed))),
      suggestion,
    }))
    .filter(({ rank }) => rank < noMatch)
    .sort((left, right) => left.rank - right.rank)
  return ranked.slice(0, suggestionsMax).map(({ suggestion }) => suggestion)
}

const noMatch = 3

function rankOf(name: string, typed: string): number {
  if (name === typed) return 0
  if (name.startsWith(typed)) return 1
  return name.includes(typed) ? 2 : noMatch
}
