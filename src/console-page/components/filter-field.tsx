import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import { useKeys } from '../keyboard/key-bindings.ts'
import { Icon } from './icon.tsx'

export interface FilterFieldProps {
  readonly label: string
  readonly value: string
  readonly onInput: (text: string) => void
}

/** The field that `/` goes to. Enter leaves it, Escape clears it. */
export function FilterField({ label, value, onInput }: FilterFieldProps): JSX.Element {
  const field = useRef<HTMLInputElement>(null)
  useKeys([{ keys: '/', title: 'Filter', run: () => field.current?.select() }])
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' && event.key !== 'Enter') return
    event.preventDefault()
    if (event.key === 'Escape') onInput('')
    field.current?.blur()
  }
  return (
    <label class="filter-field">
      <Icon name="filter" />
      <span class="visually-hidden">{label}</span>
      <input
        ref={field}
        type="text"
        value={value}
        placeholder={`${label}  /`}
        autocomplete="off"
        spellcheck={false}
        onInput={event => onInput(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
    </label>
  )
}
