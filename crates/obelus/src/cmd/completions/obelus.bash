_obelus() {
    local IFS=$'\013' line=${COMP_LINE:0:COMP_POINT} words=() word rest last prefix= breaks
    # Words that bash split at `:` or `=` have no blank between them in the line.
    for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        rest=${line#"${line%%[![:blank:]]*}"}
        # The word ends at the cursor.
        [[ $rest == "$word"* ]] || word=$rest
        if [[ ${#words[@]} -gt 0 && $rest == "$line" ]]; then
            words[${#words[@]}-1]+=$word
        else
            words+=("$word")
        fi
        line=${rest#"$word"}
    done
    last=$((${#words[@]} - 1))
    compopt +o nospace 2> /dev/null
    COMPREPLY=($(
        OBELUS_COMPLETE=bash _CLAP_IFS="$IFS" _CLAP_COMPLETE_INDEX=$last \
            obelus -- "${words[@]}" 2> /dev/null
    ))
    # Bash keeps what stands before the last break.
    breaks=${COMP_WORDBREAKS//[^:=]/}
    [[ $breaks ]] && prefix=${words[last]%"${words[last]##*[$breaks]}"}
    COMPREPLY=("${COMPREPLY[@]#"$prefix"}")
    [[ ${COMPREPLY-} == *[=/:] ]] && compopt -o nospace 2> /dev/null
    return 0
}
if [[ ${BASH_VERSINFO[0]} -gt 4 || ${BASH_VERSINFO[0]} -eq 4 && ${BASH_VERSINFO[1]} -ge 4 ]]; then
    complete -o nospace -o bashdefault -o nosort -F _obelus obelus
else
    complete -o nospace -o bashdefault -F _obelus obelus
fi
