import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { findResource, resourceId } from '../data/api-resource.ts'
import { discovery } from '../data/discovery.ts'
import { parseCommand, type Command } from '../router/parse-command.ts'
import { hrefOf, hrefOfObject, namespace, navigate } from '../router/router.ts'
import { session } from '../data/session.ts'
import { views } from '../views.ts'
import { suggestCommands, type Suggestion } from './suggest-commands.ts'
import { Modal } from './modal.tsx'
import { selectNamespace } from './namespace-selector.tsx'

/** The line that opens with `:`, with suggestions below it. */
export function CommandBar({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const line = useSignal('')
  const selected = useSignal(0)
  const message = useSignal('')
  const suggestions = suggestCommands(line.value, { views, resources: discovery.value.resources })
  const index = Math.min(selected.value, suggestions.length - 1)
  const submit = (text: string): void => {
    const command = commandOf(text)
    message.value = command.type === 'unknown' ? command.message : (perform(command) ?? '')
    if (message.value === '') onClose()
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0 && suggestions.length > 0) {
      event.preventDefault()
      selected.value = (index + step + suggestions.length) % suggestions.length
    } else if (event.key === 'Tab' && suggestions[index]) {
      event.preventDefault()
      line.value = `${suggestions[index].word} `
    } else if (event.key === 'Enter') {
      event.preventDefault()
      // What is typed has precedence over a suggestion that only begins with it.
      const typed = commandOf(line.value)
      submit(typed.type === 'unknown' && suggestions[index] ? suggestions[index].word : line.value)
    }
  }
  return (
    <Modal label="Command" class="command-modal" onClose={onClose}>
      <div class="command-line">
        <span aria-hidden="true">:</span>
        <input
          autofocus
          role="combobox"
          aria-expanded={suggestions.length > 0}
          aria-controls="command-suggestions"
          aria-activedescendant={suggestions[index] ? `suggestion-${index}` : undefined}
          aria-label="Resource, view, or ns NAMESPACE"
          placeholder="pods, deploy kube-system, pod/web-0, ns shop, topology"
          value={line.value}
          autocomplete="off"
          spellcheck={false}
          onInput={event => {
            line.value = event.currentTarget.value.replace(/^:+/, '')
            selected.value = 0
            message.value = ''
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <Suggestions suggestions={suggestions} index={index} onSelect={submit} />
      <p class="command-message" role="status">
        {message.value}
      </p>
    </Modal>
  )
}

interface SuggestionsProps {
  readonly suggestions: readonly Suggestion[]
  readonly index: number
  readonly onSelect: (word: string) => void
}

function Suggestions({ suggestions, index, onSelect }: SuggestionsProps): JSX.Element {
  return (
    <ul id="command-suggestions" class="suggestions" role="listbox" aria-label="Suggestions">
      {suggestions.map(({ word, title, detail }, at) => (
        <li
          key={word}
          id={`suggestion-${at}`}
          role="option"
          aria-selected={at === index}
          onClick={() => onSelect(word)}
        >
          <span class="suggestion-word">{word}</span>
          <span>{title}</span>
          <span class="suggestion-detail">{detail}</span>
        </li>
      ))}
    </ul>
  )
}

function commandOf(line: string): Command {
  const words = views.flatMap(view => [view.path, ...view.words].map(word => [word, view.path] as const))
  const { resources } = discovery.peek()
  const isResource = (word: string): boolean => findResource(resources, word) !== undefined
  return parseCommand(line, { views: new Map(words), isResource })
}

/** Returns a message if the command cannot be performed. */
function perform(command: Exclude<Command, { readonly type: 'unknown' }>): string | undefined {
  if (command.type === 'namespace') {
    selectNamespace(command.namespace)
    return undefined
  }
  if (command.type === 'view') {
    navigate(hrefOf([command.path]))
    return undefined
  }
  const resource = findResource(discovery.peek().resources, command.resource)
  if (resource === undefined) return `${command.resource}: no such resource`
  if (command.type === 'list') {
    navigate(hrefOf([resourceId(resource)], { namespace: command.namespace ?? namespace.peek() }))
    return undefined
  }
  const within = command.namespace ?? (namespace.peek() || session.peek()?.contextNamespace || 'default')
  navigate(hrefOfObject(resource, { namespace: resource.namespaced ? within : '', name: command.name }))
  return undefined
}
