import type { JSX } from 'preact'
import { announce } from '../shell/announce.tsx'
import { Icon } from './icon.tsx'

export function CopyButton({ text }: { readonly text: string }): JSX.Element {
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text)
      announce('Copied')
    } catch {
      announce('The browser does not permit copying', { isError: true })
    }
  }
  return (
    <button type="button" class="icon-button" aria-label={`Copy ${text}`} onClick={() => void copy()}>
      <Icon name="copy" />
    </button>
  )
}
